/*
 * The routes of remote workers: claim, heartbeat, complete, fail, artifacts, and cancel requests. Only workers' keys
 * are accepted, and each reaches only its scope and the jobs in flight at its own workers. Every write names its lease;
 * a write under a lost lease changes nothing. Ends and artifact parts are safe to resend. A claim whose answer is lost
 * spends no attempt.
 *
 * Start with `route.ts` (the wrapper), then this file (`claim`), `hand-out.ts`, `heartbeat.ts`, `end.ts` and
 * `settle.ts`.
 */

import type * as z from "zod";
import { BoundedMap } from "@/lib/async/bounded-map";
import { CountedSlots } from "@/lib/async/slots";
import { type ClaimedWork, type claimWork, LIMITS } from "@/lib/contract";
import {
  canceledAttempts,
  claimRemoteJobs,
  FairShare,
  type RemoteScope,
  recordRemoteWorker,
  WholeLooks,
} from "@/lib/queue/remote";
import { LongPoll } from "@/web/live/long-poll";
import { HttpProblem } from "../http/problem";
import { ANSWER_WITHIN_MS } from "../http/serve";
import { refuseWhilePaused } from "../paused";
import { handOut } from "./hand-out";
import { lanesOf } from "./lanes";
import type { WorkerContext } from "./route";
import { covers, scopeOf } from "./scope";
import { giveBack } from "./settle";

type Context = WorkerContext<unknown, z.output<typeof claimWork>>;

/** The longest that a claim may take: its wait, plus the time that any answer has. */
export const CLAIM_WITHIN_MS = LIMITS.remoteWaitSecondsMax * 1000 + ANSWER_WITHIN_MS;

/** An answer this close to the limit may be cut off by it. */
const LATE_MS = 500;
const SAY_AGAIN_MS = 4000;
const MOST_SHARES = 1000;
const shares = new BoundedMap<string, FairShare>(MOST_SHARES);
const counts = new WholeLooks();
const polls = new CountedSlots(LIMITS.remotePollsPerKey);

/**
 * Claims jobs for a remote worker, and waits for some when there are none. If the client disconnects before the answer
 * is sent completely, the jobs are given back and no attempt is spent.
 */
export async function claim(context: Context): Promise<ClaimedWork> {
  await refuseWhilePaused();
  const { key, body, signal } = context;
  const scope = scopeOf(key, body);
  // Taken before the poll is made, because a poll is visible to others at once. A claim without a slot must leave
  // nothing behind.
  const release = body.wait_seconds > 0 ? takeSlot(key.id) : () => {};
  const poll = new LongPoll(body.wait_seconds, signal, (lane) => covers(scope, lane));
  try {
    return await untilSome(context, scope, poll);
  } finally {
    poll.close();
    release();
  }
}

async function untilSome(context: Context, scope: RemoteScope, poll: LongPoll): Promise<ClaimedWork> {
  const workerId = context.holder + context.body.worker.name;
  let saidAt = Number.NEGATIVE_INFINITY;
  while (!poll.over) {
    // Repeated while waiting, so that an idle worker counts as alive.
    if (poll.age() - saidAt >= SAY_AGAIN_MS) {
      await sayItLives(context, scope);
      saidAt = poll.age();
    }
    const isLast = poll.due;
    const { answer, retryInMs } = await look(context, scope, poll);
    if (answer || isLast) return answer ?? { jobs: [], cancel_requested: await canceled(context, workerId) };
    if ((await poll.next(retryInMs ?? undefined)) === "cancel") {
      const leases = await canceled(context, workerId);
      if (leases.length > 0) return { jobs: [], cancel_requested: leases };
    }
    if (!poll.over) await context.recheck();
  }
  return { jobs: [], cancel_requested: [] };
}

interface Look {
  readonly answer: ClaimedWork | null;
  readonly retryInMs: number | null;
}

async function look(context: Context, scope: RemoteScope, poll: LongPoll): Promise<Look> {
  const { db, key, holder, body, signal, runtime } = context;
  const workerId = holder + body.worker.name;
  const request = {
    workerId,
    scope,
    limit: body.limit,
    leaseSeconds: body.lease_seconds,
    share: shares.getOrMake(key.id, () => new FairShare()),
    lanes: lanesOf(scope),
  };
  const since = performance.now();
  const { jobs: claimed, retryInMs } = await claimRemoteJobs(db, request, Math.random);
  if (claimed.length === 0) return { answer: null, retryInMs };
  const backAgain = (jobs = claimed) => giveBack(db, jobs).catch((error: unknown) => logLoss(context, error));
  try {
    const { jobs, sent } = await handOut(db, claimed, {
      maxTimeoutSeconds: runtime.config.maxTimeoutSeconds,
      since,
    });
    if (poll.clientLeft || poll.age() > CLAIM_WITHIN_MS - LATE_MS) {
      await backAgain();
      return { answer: null, retryInMs };
    }
    // The connection may still break while the answer is in flight.
    signal.addEventListener("abort", () => void backAgain(jobs), { once: true });
    if (sent.length === 0) return { answer: null, retryInMs };
    return { answer: { jobs: [...sent], cancel_requested: await canceled(context, workerId) }, retryInMs };
  } catch (error) {
    await backAgain();
    throw error;
  }
}

async function sayItLives({ db, holder, body }: Context, scope: RemoteScope): Promise<void> {
  const { worker, limit } = body;
  const about = {
    workerId: holder + worker.name,
    hostname: worker.hostname ?? "",
    pid: worker.pid ?? 0,
    version: worker.version ?? "",
    label: worker.label ?? worker.name,
    queues: scope.queues ?? [],
    definitions: [...scope.definitions].sort(),
    capacity: worker.capacity ?? limit,
    tenantId: scope.tenantId,
  };
  const known = await recordRemoteWorker(db, holder, about, counts);
  if (!known) throw new HttpProblem("too-many-workers", { headers: { "retry-after": "60" } });
}

async function canceled({ db }: Context, workerId: string): Promise<ClaimedWork["cancel_requested"]> {
  return (await canceledAttempts(db, workerId)).map(({ jobId, leaseNo }) => ({ job_id: jobId, lease_no: leaseNo }));
}

function logLoss({ runtime }: Context, error: unknown): void {
  runtime.log.warn({ error: String(error) }, "claimed jobs could not be released, their leases will expire");
}

function takeSlot(keyId: string): () => void {
  const release = polls.take(keyId);
  if (release) return release;
  throw new HttpProblem("too-many-polls", {
    detail: `A key can have at most ${LIMITS.remotePollsPerKey} waiting claims.`,
    headers: { "retry-after": "1" },
  });
}
