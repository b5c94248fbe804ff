/**
 * Attempts: how an attempt begins and ends. Every write names its lease (job and lease number), so a late worker can
 * never complete, fail or requeue a job that it no longer holds.
 *
 * Start with `settleAttempts`, which records how attempts ended. The policy in attempt-end.policy.ts decides between
 * retry and end. begin-attempts.ts marks a worker's attempts as begun with one write.
 */
import { bisect } from "@/lib/async/bisect";
import { type Database, DatabaseError, type Runner, type Transaction, withTenant } from "@/lib/db";
import { beganArray, leaseArrays } from "../claim/claim-jobs";
import { enqueueJobs } from "../enqueue/enqueue-jobs";
import { QueueError } from "../errors";
import { SYSTEM } from "../system-actor";
import { isPlainEnd, resultArray, toJson } from "./attempt-columns";
import {
  finishAttemptsSql,
  finishPlainSql,
  finishSucceededSql,
  readLeasesSql,
  requeueAttemptsSql,
} from "./settle-attempts.sql";
import type { AttemptEnd, Refused, Settled } from "./types";

type Open = Map<string, AttemptEnd>;

interface Into {
  readonly progress: Progress;
  readonly left: Open;
  /** True for a caller's transaction: if its connection is lost, so is the whole transaction. */
  readonly onOneConnection: boolean;
}

interface Progress {
  readonly settled: string[];
  readonly lost: string[];
  readonly locked: string[];
  readonly canceled: string[];
  readonly unstorable: string[];
  readonly releasedLanes: number[];
  readonly refused: ({ readonly jobId: string } & Refused)[];
}

interface FinishedRow {
  job_id: string;
  /** Lanes of released dependents, the same in each row of a batch. */
  released: number[] | null;
}

/**
 * Records how a batch of attempts ended: finished runs leave the live table, other jobs go back to the queue.
 *
 * - Each statement is atomic, so an attempt is recorded completely or not at all. Settling the same batch again after
 *   an unknown answer is safe: ends that were stored then count as lost.
 * - Lost leases are reported, never written.
 * - One bad row never blocks the others. An end that cannot be stored even without details is reported as unstorable.
 * - A job that was to be retried but has a cancel request ends as canceled.
 * - Dependents of ended jobs are released, or end with them, in the same statement.
 * - An end with children is stored in its own transaction together with them. If a child is refused, so is the end.
 * @throws DatabaseError if the database fails for another reason than the content of an end or a lock
 */
export async function settleAttempts(
  db: Runner | Transaction,
  ends: readonly AttemptEnd[],
  reclaimed = false,
): Promise<Settled> {
  const progress: Progress = {
    settled: [],
    lost: [],
    locked: [],
    canceled: [],
    unstorable: [],
    releasedLanes: [],
    refused: [],
  };
  const final = ends.filter((end) => end.outcome !== undefined && !end.children?.length);
  const again = ends.filter((end) => end.outcome === undefined);
  const left: Open = new Map();
  const plain = final.filter(isPlainEnd);
  const others = plain.length === final.length ? [] : final.filter((end) => !isPlainEnd(end));
  const into = { progress, left, onOneConnection: "inTransaction" in db, onUnstorable: noteUnstorable(progress) };
  // Savepoints, because a failed statement would abort the rest of the caller's transaction.
  const apart = <T>(work: () => Promise<T>): Promise<T> => ("inTransaction" in db ? db.savepoint(work) : work());
  await applyBatch(plain, (batch) => apart(() => finishPlain(db, batch)), into);
  const unusual = [...left.values()];
  left.clear();
  for (const part of [unusual, others]) {
    await applyBatch(part, (batch) => apart(() => finish(db, batch, progress)), into);
  }
  for (const end of ends.filter(({ children }) => children?.length)) {
    await finishWithChildren(db, end, into);
  }
  await applyBatch(again, (batch) => apart(() => requeue(db, batch, reclaimed)), into);
  await sortUnsettled(db, left, progress);
  return progress;
}

const succeededValues = (batch: readonly AttemptEnd[]): unknown[] => [
  ...leaseArrays(batch),
  resultArray(batch),
  beganArray(batch),
];

/** Ends plain successes and returns their ids: null = all of them, none if a row stays locked for too long. */
async function finishPlain(db: Runner, batch: readonly AttemptEnd[]): Promise<readonly string[] | null> {
  // In a caller's transaction the short lock_timeout would outlive this statement.
  if ("inTransaction" in db || !batch.every(isPlainEnd)) return [];
  try {
    const [row] = await db.run<{ done: string[] | null }>(finishPlainSql, succeededValues(batch));
    return row ? row.done : [];
  } catch (error) {
    if (isTooLong(error)) return [];
    throw error;
  }
}

async function finish(db: Runner, batch: readonly AttemptEnd[], { releasedLanes }: Progress): Promise<string[]> {
  const rows = batch.every(isPlainEnd)
    ? await db.run<FinishedRow>(finishSucceededSql, succeededValues(batch))
    : await db.run<FinishedRow>(finishAttemptsSql, [toJson(batch)]);
  releasedLanes.push(...(rows[0]?.released ?? []));
  return rows.map((row) => row.job_id);
}

const noteUnstorable = (progress: Progress) => (_error: unknown, end: AttemptEnd) =>
  void progress.unstorable.push(end.jobId);

/** Stores an end and its children together or not at all. */
async function finishWithChildren(db: Runner, end: AttemptEnd, into: Into): Promise<void> {
  const scope = { tenantId: end.tenantId, actor: SYSTEM };
  const together = ([one]: readonly AttemptEnd[]): Promise<string[]> =>
    withTenant(poolOf(db), end.tenantId, async (tx) => {
      const done = one ? await finish(tx, [one], into.progress) : [];
      if (done.length > 0) await enqueueJobs(tx, scope, end.children ?? [], { inTurns: true });
      return done;
    });
  const onUnstorable = (error: unknown) => {
    throw error;
  };
  try {
    await applyBatch([end], together, { ...into, onUnstorable }).catch((error: unknown) => {
      // The definition may have changed between the read and the insert. The transaction was undone, so try once more.
      if (!(error instanceof QueueError && error.code === "definition-inactive")) throw error;
      return applyBatch([end], together, { ...into, onUnstorable });
    });
  } catch (error) {
    if (!(error instanceof QueueError || isContentRefused(error) || isForbidden(error))) throw error;
    const isLater = error instanceof QueueError && error.code === "tenant-suspended";
    into.progress.refused.push({ jobId: end.jobId, reason: reasonOf(error), isLater });
  }
}

function poolOf(db: Runner): Database {
  if ("transaction" in db) return db as Database;
  throw new Error("ends with children are settled on a pool: each has a transaction of its own");
}

function reasonOf(error: unknown): string {
  if (!(error instanceof QueueError)) return "A job that it enqueued cannot be stored.";
  const where = error.problems.map(({ pointer, detail }) => `${pointer} ${detail}`).join("; ");
  return `A job that it enqueued was refused: ${error.message}${where === "" ? "" : ` (${where})`}`;
}

const requeue = async (db: Runner, batch: readonly AttemptEnd[], reclaimed: boolean): Promise<string[]> =>
  (await db.run<{ job_id: string }>(requeueAttemptsSql, [toJson(batch), reclaimed ? 1 : 0])).map((row) => row.job_id);

/**
 * Applies a batch. If the database refuses its content, the batch is halved until the bad row is alone and is stripped.
 * An end that times out, because another transaction holds a lock, is found in the same way and left for another try.
 */
async function applyBatch(
  batch: readonly AttemptEnd[],
  apply: (batch: readonly AttemptEnd[]) => Promise<readonly string[] | null>,
  into: Into & { readonly onUnstorable: (error: unknown, end: AttemptEnd) => void },
): Promise<void> {
  if (batch.length === 0) return;
  await bisect(batch, {
    apply: async (part) => {
      const answer = await apply(part);
      const done = answer && new Set(answer);
      for (const end of part) {
        if (done === null || done.has(end.jobId)) into.progress.settled.push(end.jobId);
        else into.left.set(end.jobId, end);
      }
    },
    isOfOne: (error) =>
      (isTooLong(error) || isContentRefused(error)) && !(into.onOneConnection && isConnectionLost(error)),
    onRefused: (end, error) => {
      if (isTooLong(error)) into.left.set(end.jobId, end);
      else if (isStripped(end)) into.onUnstorable(error, end);
      else return applyBatch([strip(end)], apply, into);
    },
  });
}

const isContentRefused = (error: unknown): boolean =>
  error instanceof DatabaseError && (error.kind === "invalid" || error.kind === "other" || error.kind === "conflict");

/** True if a lock was not acquired in time or the whole batch took too long. A part of the batch may succeed. */
const isTooLong = (error: unknown): boolean => error instanceof DatabaseError && error.kind === "timeout";

const isConnectionLost = (error: unknown): boolean => error instanceof DatabaseError && error.connectionLost;

// The worker lacks a right that the child needs, so another try would fail too.
const isForbidden = (error: unknown): boolean => error instanceof DatabaseError && error.kind === "forbidden";

const isStripped = (end: AttemptEnd): boolean =>
  end.output === undefined && end.result === undefined && end.errorText === undefined;

/** Returns the end without its details, for a row whose details cannot be stored. */
function strip({ jobId, leaseNo, tenantId, status, spent, outcome, retryInSeconds, beganAt }: AttemptEnd): AttemptEnd {
  return {
    jobId,
    beganAt,
    leaseNo,
    tenantId,
    status,
    spent,
    errorType: "internal",
    ...(outcome === undefined ? {} : { outcome }),
    ...(retryInSeconds === undefined ? {} : { retryInSeconds }),
  };
}

/** Sorts ends that no statement took into lost leases, locked rows and jobs with a cancel request, which it ends. */
async function sortUnsettled(db: Runner, left: Open, progress: Progress): Promise<void> {
  if (left.size === 0) return;
  const ends = [...left.values()];
  const leased = await db.run<{ job_id: string; cancel_requested: boolean }>(readLeasesSql, leaseArrays(ends));
  const cancel = leased.filter((row) => row.cancel_requested && left.get(row.job_id)?.outcome === undefined);
  const canceled = new Set(
    await finishAsCanceled(
      db,
      cancel.flatMap((row) => left.get(row.job_id) ?? []),
      progress,
    ),
  );
  const stillLeased = new Set(leased.map((row) => row.job_id));
  for (const { jobId } of ends) {
    if (canceled.has(jobId)) progress.canceled.push(jobId);
    else (stillLeased.has(jobId) ? progress.locked : progress.lost).push(jobId);
  }
}

async function finishAsCanceled(db: Runner, ends: readonly AttemptEnd[], progress: Progress): Promise<string[]> {
  return ends.length === 0
    ? []
    : finish(
        db,
        ends.map((end) => ({ ...end, outcome: "canceled" as const })),
        progress,
      );
}
