import { auditedChange } from "@/lib/api/audited";
import { pauseChange } from "@/lib/api/resources/queue-changes";
import { wakeWorkers } from "@/lib/api/resources/wake";
import { platformRoute } from "@/lib/api/route";
import { pauseParams, pauseView } from "@/lib/contract";
import { endPause } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const DELETE = platformRoute({
  permission: "platform:queues:write",
  summary: "End a pause",
  params: pauseParams,
  response: pauseView,
  handler: async (context) => {
    const { db, params } = context;
    const ended = await auditedChange(
      context,
      (inside) => endPause(inside, params.pauseId),
      (was) => pauseChange("pause.ended", was),
    );
    wakeWorkers(db);
    return ended;
  },
});
