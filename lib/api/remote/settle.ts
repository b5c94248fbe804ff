import { setTimeout } from "node:timers/promises";
import type { Runner } from "@/lib/db";
import {
  type AttemptEnd,
  type ClaimedJob,
  type EndedAttempt,
  findEndedAttempt,
  findLeasedAttempt,
  givenBackEnd,
  type Lease,
  type LeasedAttempt,
  notifyChanges,
  notifyWork,
  type RunnableDefinition,
  SINCE_HAND_OUT,
  settleAttempts,
} from "@/lib/queue/remote";
import { HttpProblem } from "../http/problem";
import { versions } from "./definitions";
import { leaseLost } from "./route";

const LOCKED_AGAIN_MS = 100;
const LOCKED_TRIES = 30;

interface Holder {
  readonly db: Runner;
  readonly holder: string;
}

/**
 * Records how the attempt of a lease ended, and returns the recorded end. Resending the same end after a lost answer
 * gets the same answer and changes nothing.
 * @throws HttpProblem lease-lost
 */
export async function endAttempt(
  { db, holder }: Holder,
  lease: Lease,
  end: {
    /** True if the recorded end is the same as the requested one. */
    readonly isRepeat: (ended: EndedAttempt) => boolean;
    readonly decide: (leased: LeasedAttempt, definition: RunnableDefinition) => Promise<AttemptEnd>;
  },
): Promise<EndedAttempt> {
  const leased = await findLeasedAttempt(db, holder, lease);
  const endOf = async (one: LeasedAttempt): Promise<AttemptEnd> => {
    const decided = await end.decide(one, await versions.of(db, one.job));
    // A job that is given back before the worker's first request about it did not begin.
    return one.job.hasBegun || decided.status === "released" ? decided : { ...decided, beganAt: SINCE_HAND_OUT };
  };
  const stored = leased && (await settle(db, leased.job.laneNo, await endOf(leased)));
  const ended = await findEndedAttempt(db, holder, lease);
  if (!ended || !(stored || end.isRepeat(ended))) throw leaseLost();
  return ended;
}

/**
 * Records an end and notifies workers and watchers. Returns false when the lease is lost and nothing was written.
 * @throws HttpProblem internal-error when the database refuses even the bare end; unavailable when the row stays locked
 */
export async function settle(db: Runner, laneNo: number, end: AttemptEnd): Promise<boolean> {
  for (let tries = 0; tries < LOCKED_TRIES; tries += 1) {
    const { locked, lost, unstorable: refused, releasedLanes } = await settleAttempts(db, [end]);
    if (lost.length > 0) return false;
    // A bare end holds no text from the worker, so the cause is in the database. The worker repeats the end; once its
    // lease has expired, the job is rescued.
    if (refused.length > 0) throw new HttpProblem("internal-error");
    if (locked.length === 0) {
      const isBack = end.outcome === undefined && (end.retryInSeconds ?? 0) <= 0;
      notifyWork(db, isBack ? [laneNo, ...releasedLanes] : releasedLanes);
      notifyChanges(db, [laneNo, ...releasedLanes]);
      return true;
    }
    await setTimeout(LOCKED_AGAIN_MS);
  }
  throw new HttpProblem("unavailable", { headers: { "retry-after": "1" } });
}

/** Gives back jobs that no worker received; no attempt is spent. */
export async function giveBack(db: Runner, jobs: readonly ClaimedJob[]): Promise<void> {
  if (jobs.length === 0) return;
  await settleAttempts(db, jobs.map(givenBackEnd));
  const lanes = [...new Set(jobs.map(({ laneNo }) => laneNo))];
  notifyWork(db, lanes);
  notifyChanges(db, lanes);
}
