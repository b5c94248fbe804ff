import {
  DueCursor,
  dropRunningJobsList,
  expireJobs,
  type LeaseWatch,
  notifyChanges,
  notifyWork,
  promoteDueJobs,
  recordRunningJobs,
  rescueExpiredLeases,
} from "@/lib/queue/scheduler";
import type { Loop } from "./run-loops";

/** Jobs per transaction. */
const BATCH = 1000;

/** Makes due jobs claimable. */
export function promoteTurn(cursor = new DueCursor()): Loop["turn"] {
  return async ({ inTerm, db }) => {
    const from = cursor.next(performance.now());
    const promoted = await inTerm((tx) => promoteDueJobs(tx, { limit: BATCH, from }));
    cursor.looked(from, promoted, performance.now());
    const { laneNos, count } = promoted;
    notifyWork(db, laneNos);
    notifyChanges(db, laneNos);
    return { again: count >= BATCH };
  };
}

/** Rescues jobs whose leases expired. */
export function rescueTurn(watch: LeaseWatch): Loop["turn"] {
  return async ({ inTerm, db, log, random, retry }) => {
    const sweep = await inTerm((tx) => rescueExpiredLeases(tx, { limit: BATCH, watch, random, retry }));
    const { laneNos, rescued, ended, lost, unstorable } = sweep;
    if (unstorable.length > 0) log.error({ job_ids: unstorable.slice(0, 10) }, "expired leases cannot be rescued");
    if (rescued + ended > 0) log.warn({ rescued, ended, jobs: lost }, "leases expired");
    notifyWork(db, laneNos);
    notifyChanges(db, laneNos);
    return { again: rescued + ended === BATCH };
  };
}

/**
 * Records running jobs while the rescue finds many dead index entries, so that counts under limits do not scan those.
 */
export function recordRunningTurn(watch: LeaseWatch): Loop["turn"] {
  return async ({ db }) => {
    await (watch.isCostly ? recordRunningJobs(db) : dropRunningJobsList(db));
    return { again: false };
  };
}

/** Ends jobs that waited past their expires_at. */
export function expireTurn(cursor = new DueCursor()): Loop["turn"] {
  return async ({ inTerm, db, log }) => {
    const from = cursor.next(performance.now());
    const expired = await inTerm((tx) => expireJobs(tx, { limit: BATCH, from }));
    cursor.looked(from, expired, performance.now());
    const { laneNos, count, left } = expired;
    if (left.length > 0) log.warn({ job_ids: left.slice(0, 10) }, "jobs could not be expired, retrying");
    notifyWork(db, laneNos);
    notifyChanges(db, laneNos);
    return { again: count >= BATCH };
  };
}
