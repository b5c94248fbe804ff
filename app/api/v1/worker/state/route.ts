import { workerRoute } from "@/lib/api/remote/route";
import { workerState, workerStateAnswer } from "@/lib/contract";
import { drainWorker, stopWorker } from "@/lib/queue/remote";

export const dynamic = "force-dynamic";

export const POST = workerRoute({
  summary: "Report that a remote worker is draining or has stopped",
  body: workerState,
  response: workerStateAnswer,
  handler: async ({ db, holder, body: { worker, state } }) => {
    const workerId = holder + worker.name;
    await (state === "draining" ? drainWorker : stopWorker)(db, workerId);
    return { worker_id: workerId, state };
  },
});
