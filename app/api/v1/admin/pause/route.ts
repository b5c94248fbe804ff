import { auditedChange } from "@/lib/api/audited";
import { Reply } from "@/lib/api/http/respond";
import { pauseInput } from "@/lib/api/resources/queue-input";
import { pauseChange, serializePause } from "@/lib/api/resources/serialize-queues";
import { platformRoute } from "@/lib/api/route";
import { createPause, pauseList, pauseView } from "@/lib/contract";
import { listPauses, notifyPaused, pause } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = platformRoute({
  permission: "platform:queues:read",
  summary: "List the current pauses",
  response: pauseList,
  handler: async ({ db }) => ({ data: (await listPauses(db)).map(serializePause) }),
});

export const POST = platformRoute({
  permission: "platform:queues:write",
  summary: "Pause a queue, a definition, a tenant or everything",
  body: createPause,
  response: pauseView,
  status: 201,
  handler: async (context) => {
    const { actor, body } = context;
    const paused = await auditedChange(
      context,
      (db) => pause(db, actor, pauseInput(body)),
      (made) => pauseChange("pause.set", made),
    );
    notifyPaused(context.db);
    return new Reply(serializePause(paused), {
      status: 201,
      headers: { location: `/api/v1/admin/pause/${paused.id}` },
    });
  },
});
