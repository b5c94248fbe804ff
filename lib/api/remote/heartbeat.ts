import { setTimeout } from "node:timers/promises";
import type * as z from "zod";
import type { heartbeatAnswer, heartbeatBody } from "@/lib/contract";
import type { Runner } from "@/lib/db";
import {
  appendLogs,
  attemptTimeout,
  decideAttemptEnd,
  extendLeases,
  findLeasedAttempt,
  type Lease,
  type LeasedAttempt,
  LOG_LINE_BYTES,
  markHeard,
  measureLog,
  notifyChanges,
  type RunnableDefinition,
  reportProgress,
  seeRemoteWorker,
} from "@/lib/queue/remote";
import { cleanLine } from "./clean";
import { versions } from "./definitions";
import { leaseLost, type WorkerContext } from "./route";
import { settle } from "./settle";

type Body = z.output<typeof heartbeatBody>;
type Context = WorkerContext<{ jobId: string }, Body>;

const LOCKED_AGAIN_MS = 100;
const LOCKED_TRIES = 20;
/** Allowed beyond the time limit and the grace period, so that the worker can notice and report the timeout itself. */
const OVERTIME_SECONDS = 10;

/**
 * Renews the lease of a remote attempt and stores its output and progress. An attempt far over its time limit is ended
 * instead, so that no worker keeps a job forever.
 * @throws HttpProblem lease-lost
 */
export async function heartbeat({
  db,
  holder,
  params,
  body,
  runtime,
}: Context): Promise<z.infer<typeof heartbeatAnswer>> {
  const lease: Lease = { jobId: params.jobId, leaseNo: body.lease_no };
  const leased = await findLeasedAttempt(db, holder, lease);
  if (!leased || !(await markHeard(db, leased))) throw leaseLost();
  const definition = await versions.of(db, leased.job);
  await endOverdue(db, leased, { definition, config: runtime.config });
  const longest = definition.leaseSeconds;
  const renewed = await renew(db, { ...lease, leaseSeconds: Math.min(body.lease_seconds ?? longest, longest) });
  const droppedLines = await storeLogs(db, lease, { lines: body.logs ?? [], mostBytes: runtime.config.logMaxBytes });
  if (body.progress) await showProgress(db, lease, body.progress);
  await seeRemoteWorker(db, leased.workerId);
  if (body.progress || body.logs?.length) notifyChanges(db, [leased.job.laneNo]);
  return {
    job_id: lease.jobId,
    lease_no: lease.leaseNo,
    lease_expires_at: renewed.leaseExpiresAt.toISOString(),
    cancel_requested: renewed.cancelRequested,
    dropped_lines: droppedLines,
  };
}

async function endOverdue(
  db: Runner,
  { job, runningSeconds }: LeasedAttempt,
  {
    definition,
    config,
  }: { definition: RunnableDefinition; config: WorkerContext<unknown, unknown>["runtime"]["config"] },
): Promise<void> {
  const timeout = attemptTimeout(job, definition, config.maxTimeoutSeconds);
  if (runningSeconds <= timeout + definition.killGraceSeconds + OVERTIME_SECONDS) return;
  const execution = { kind: "timeout", message: `The attempt ran over its time limit of ${timeout} s.` } as const;
  const ended = { claimed: job, definition, execution, environment: config.retry };
  await settle(db, job.laneNo, await decideAttemptEnd(db, ended, Math.random));
  throw leaseLost("The attempt ran over its time limit and was ended. Nothing was written.");
}

async function renew(
  db: Runner,
  lease: Lease & { leaseSeconds: number },
): Promise<{ leaseExpiresAt: Date; cancelRequested: boolean }> {
  for (let tries = 0; ; tries += 1) {
    const { renewed, lost, cancelRequested } = await extendLeases(db, [lease]);
    const [done] = renewed;
    if (done) return { leaseExpiresAt: done.leaseExpiresAt, cancelRequested: cancelRequested.length > 0 };
    if (lost.length > 0 || tries >= LOCKED_TRIES) throw leaseLost();
    await setTimeout(LOCKED_AGAIN_MS);
  }
}

async function storeLogs(
  db: Runner,
  lease: Lease,
  { lines, mostBytes }: { lines: NonNullable<Body["logs"]>; mostBytes: number },
): Promise<number> {
  if (lines.length === 0) return 0;
  const stored = await measureLog(db, lease);
  let left = mostBytes - stored.bytes - stored.lines * LOG_LINE_BYTES;
  const chunks = [];
  let dropped = 0;
  for (const { seq, level, message } of lines) {
    const wasOpen = left > 0;
    const body = cleanLine(message);
    left -= Buffer.byteLength(body) + LOG_LINE_BYTES;
    if (left > 0) chunks.push({ seq, stream: "log", level, body } as const);
    else dropped += 1;
    if (left <= 0 && wasOpen) {
      chunks.push({ seq, stream: "log", level: "warn", body: "The log of this attempt is full." } as const);
    }
  }
  if (!(await appendLogs(db, lease, chunks))) throw leaseLost();
  return dropped;
}

async function showProgress(db: Runner, lease: Lease, progress: NonNullable<Body["progress"]>): Promise<void> {
  const message = progress.message ? cleanLine(progress.message) : null;
  if (!(await reportProgress(db, lease, { percent: progress.percent, message }))) throw leaseLost();
}
