/**
 * Workers: the registry of worker processes, with their heartbeats. It shows which workers are live and what they
 * support. Leases, not this registry, decide which worker owns a job, so a missing worker row loses no job.
 * Start with `registerWorker`, then `beatWorker`.
 */
import type { Runner } from "@/lib/db";
import type { WorkerRegistration, WorkerSample } from "../attempts/types";
import type { Worker } from "../types";
import { beatWorkerSql, drainWorkerSql, listWorkersSql, registerWorkerSql, stopWorkerSql } from "./workers.sql";

/** Registers a worker. Its id contains a nonce of its boot, so a restarted process is another worker. */
export async function registerWorker(db: Runner, worker: WorkerRegistration): Promise<void> {
  await db.run(registerWorkerSql, [
    worker.workerId,
    worker.hostname,
    worker.pid,
    worker.version,
    worker.label,
    worker.queues,
    worker.definitions,
    worker.capacity,
    worker.healthPort ?? null,
    worker.isolation,
    worker.tzVersion ?? null,
  ]);
}

/** Records a worker's heartbeat. Returns false if the worker is not registered any longer and has to register again. */
export async function beatWorker(
  db: Runner,
  worker: Pick<WorkerRegistration, "workerId" | "queues" | "definitions">,
  sample: WorkerSample,
): Promise<boolean> {
  const rows = await db.run(beatWorkerSql, [
    worker.workerId,
    sample.runningCount,
    sample.cpuPercent,
    Math.round(sample.rssBytes),
    sample.eventLoopLagMs,
    worker.queues,
    worker.definitions,
  ]);
  return rows.length > 0;
}

/** Marks a worker as draining: it takes no new jobs. */
export const drainWorker = async (db: Runner, workerId: string): Promise<void> =>
  void (await db.run(drainWorkerSql, [workerId]));

/** Marks a worker as stopped. A regular stop raises no alarm. */
export const stopWorker = async (db: Runner, workerId: string): Promise<void> =>
  void (await db.run(stopWorkerSql, [workerId]));

/** Lists all registered workers. The status is computed from the age of the heartbeat, by the database's clock. */
export const listWorkers = (db: Runner): Promise<Worker[]> => db.run<Worker>(listWorkersSql);
