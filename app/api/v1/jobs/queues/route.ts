import { tenantRoute } from "@/lib/api/route";
import { type Queue, type TenantQueue, tenantQueueList } from "@/lib/contract";
import { listTenantQueues } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "definitions:read",
  summary: "List the active queues and their pauses",
  response: tenantQueueList,
  handler: async ({ db, scope }) => {
    const queues = await listTenantQueues(db, scope);
    return { data: queues.map(asTenantSees) };
  },
});

/** Leaves out what only the platform may see. */
function asTenantSees(queue: Queue): TenantQueue {
  const { id: _id, weight: _weight, is_active: _active, created_at: _created, updated_at: _updated, ...shown } = queue;
  return shown;
}
