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
  /** The caller's transaction: when its connection is gone, all of it is. */
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
  /** The same in each row of a batch. */
  released: number[] | null;
}

/**
 * Records how a batch of attempts ended: runs that are over leave the live table, the others go back to the queue. Each
 * statement is atomic, so an attempt is recorded wholly or not at all, and settling the same batch again after an
 * unknown answer is safe: what was stored then counts as lost. Lost leases are reported, never written. One bad row
 * never blocks the others: what cannot even be stored bare is told as unstorable. A job that was to be retried but has a
 * cancel request ends as canceled. Jobs that waited for those that ended are released, or end with them, in the same
 * statement. An end with children is stored in a transaction of its own together with them; when one of them is refused,
 * so is the end.
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
  // A statement that fails would take the rest of the caller's transaction with it.
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
  await tellLostFromLocked(db, left, progress);
  return progress;
}

const succeededValues = (batch: readonly AttemptEnd[]): unknown[] => [
  ...leaseArrays(batch),
  resultArray(batch),
  beganArray(batch),
];

/** Ends what succeeded and concerns nobody else; null = all of it, none when somebody holds one of them. */
async function finishPlain(db: Runner, batch: readonly AttemptEnd[]): Promise<readonly string[] | null> {
  // In a caller's transaction its short waiting for locks would outlive it.
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

/** The end and its children are stored together or not at all. */
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
      // It may have been changed between the reading and the insert; the whole is undone, so it can be done again.
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
 * Runs a batch; when the database refuses its content, halves it until the bad row stands alone and is stripped. In the
 * same way an end that takes too long (somebody holds what it needs) is found; it is left for another time.
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

/** A lock was not to be had within its time, or the whole took too long: a part of it may do. */
const isTooLong = (error: unknown): boolean => error instanceof DatabaseError && error.kind === "timeout";

const isConnectionLost = (error: unknown): boolean => error instanceof DatabaseError && error.connectionLost;

// A worker may not do what the child asks for: it will not be allowed to at the next try either.
const isForbidden = (error: unknown): boolean => error instanceof DatabaseError && error.kind === "forbidden";

const isStripped = (end: AttemptEnd): boolean =>
  end.output === undefined && end.result === undefined && end.errorText === undefined;

/** The bare fact of the end, for a row whose details cannot be stored. */
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

/** What neither statement took: lost, locked by an enqueuing caller, or kept back by a cancel request. */
async function tellLostFromLocked(db: Runner, left: Open, progress: Progress): Promise<void> {
  if (left.size === 0) return;
  const ends = [...left.values()];
  const held = await db.run<{ job_id: string; cancel_requested: boolean }>(readLeasesSql, leaseArrays(ends));
  const cancel = held.filter((row) => row.cancel_requested && left.get(row.job_id)?.outcome === undefined);
  const canceled = new Set(
    await finishAsCanceled(
      db,
      cancel.flatMap((row) => left.get(row.job_id) ?? []),
      progress,
    ),
  );
  const stillHeld = new Set(held.map((row) => row.job_id));
  for (const { jobId } of ends) {
    if (canceled.has(jobId)) progress.canceled.push(jobId);
    else (stillHeld.has(jobId) ? progress.locked : progress.lost).push(jobId);
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
