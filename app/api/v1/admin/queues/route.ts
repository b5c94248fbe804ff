import { auditedChange } from "@/lib/api/audited";
import { Reply } from "@/lib/api/http/respond";
import { defined } from "@/lib/api/resources/filters";
import { platformRoute } from "@/lib/api/route";
import { createQueueBody as createBody, queue, queueList } from "@/lib/contract";
import { createQueue, listQueues } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = platformRoute({
  permission: "platform:queues:read",
  summary: "List all queues with their settings",
  response: queueList,
  handler: async ({ db }) => ({ data: await listQueues(db) }),
});

export const POST = platformRoute({
  permission: "platform:queues:write",
  summary: "Create a queue",
  body: createBody,
  response: queue,
  status: 201,
  handler: async (context) => {
    const { body } = context;
    const created = await auditedChange(
      context,
      (db) => createQueue(db, defined(body)),
      ({ id, name }) => ({ action: "queue.created", objectKind: "queue", objectId: String(id), detail: { name } }),
    );
    return new Reply(created, {
      status: 201,
      headers: { location: `/api/v1/admin/queues/${created.id}` },
    });
  },
});
