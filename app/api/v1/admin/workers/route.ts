import { platformRoute } from "@/lib/api/route";
import { serializeWorker } from "@/lib/api/serialize";
import { WORKER_THRESHOLDS, workerList } from "@/lib/contract";
import { listWorkers } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = platformRoute({
  permission: "platform:workers:read",
  summary: "List workers with the age of their last heartbeat",
  response: workerList,
  handler: async ({ db }) => {
    const workers = await listWorkers(db);
    return { data: workers.map(serializeWorker), thresholds: WORKER_THRESHOLDS, as_of: new Date().toISOString() };
  },
});
