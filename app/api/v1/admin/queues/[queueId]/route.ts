import { auditedChange } from "@/lib/api/audited";
import { defined } from "@/lib/api/resources/filters";
import { wakeWorkers } from "@/lib/api/resources/wake";
import { platformRoute } from "@/lib/api/route";
import { queue, queueParams, updateQueueBody as updateBody } from "@/lib/contract";
import { updateQueue } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const PATCH = platformRoute({
  permission: "platform:queues:write",
  summary: "Change a queue, for jobs enqueued or started later",
  params: queueParams,
  body: updateBody,
  response: queue,
  handler: async (context) => {
    const { db, params, body } = context;
    const fields = Object.keys(body);
    const changed = await auditedChange(
      context,
      (inside) => updateQueue(inside, { id: params.queueId, patch: defined(body) }),
      ({ id, name }) => ({
        action: "queue.changed",
        objectKind: "queue",
        objectId: String(id),
        detail: { name, fields },
      }),
    );
    wakeWorkers(db);
    return changed;
  },
});
