/**
 * Workers: the registry of worker processes, with their heartbeats. It shows which workers are live and what they
 * support. Leases, not this registry, decide which worker owns a job, so a missing worker row loses no job.
 * Start with `registerWorker`, then `beatWorker`.
 */
import type { Runner } from "@/lib/db";
import type { WorkerRegistration, WorkerSample } from "../attempts/types";
import type { WorkerStatus, WorkerView } from "../types";
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

interface WorkerRow {
  worker_id: string;
  hostname: string;
  pid: number;
  version: string;
  label: string;
  queues: string[];
  definitions: string[];
  capacity: number;
  running_count: number;
  status: WorkerStatus;
  started_at: Date;
  last_seen_at: Date;
  age_seconds: number;
  health_port: number | null;
  isolation: string;
  tz_version: string | null;
  cpu_percent: number | null;
  rss: number | null;
  event_loop_lag_ms: number | null;
}

/** Lists all registered workers. The status is computed from the age of the heartbeat, by the database's clock. */
export async function listWorkers(db: Runner): Promise<WorkerView[]> {
  return (await db.run<WorkerRow>(listWorkersSql)).map((row) => ({
    worker_id: row.worker_id,
    hostname: row.hostname,
    pid: row.pid,
    version: row.version,
    label: row.label,
    queues: row.queues,
    definitions: row.definitions,
    capacity: row.capacity,
    running_count: row.running_count,
    status: row.status,
    started_at: row.started_at,
    last_seen_at: row.last_seen_at,
    age_seconds: Math.max(0, row.age_seconds),
    health_port: row.health_port,
    isolation: row.isolation,
    tz_version: row.tz_version,
    cpu_percent: row.cpu_percent,
    rss_bytes: row.rss,
    event_loop_lag_ms: row.event_loop_lag_ms,
  }));
}
