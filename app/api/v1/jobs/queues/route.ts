import { tenantRoute } from "@/lib/api/route";
import { tenantQueueList } from "@/lib/contract";
import { listTenantQueues } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "definitions:read",
  summary: "List the active queues and their pauses",
  response: tenantQueueList,
  handler: async ({ db, scope }) => {
    const queues = await listTenantQueues(db, scope);
    return { data: queues.map(serializeTenantQueue) };
  },
});
