import { auditedChange } from "@/lib/api/audited";
import { Reply } from "@/lib/api/http/respond";
import { defined } from "@/lib/api/resources/filters";
import { pauseChange } from "@/lib/api/resources/queue-changes";
import { platformRoute } from "@/lib/api/route";
import { createPause, pauseList, pauseView } from "@/lib/contract";
import { listPauses, notifyPaused, pause } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = platformRoute({
  permission: "platform:queues:read",
  summary: "List the current pauses",
  response: pauseList,
  handler: async ({ db }) => ({ data: await listPauses(db) }),
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
      (db) => pause(db, actor, defined(body)),
      (made) => pauseChange("pause.set", made),
    );
    notifyPaused(context.db);
    return new Reply(paused, {
      status: 201,
      headers: { location: `/api/v1/admin/pause/${paused.id}` },
    });
  },
});
