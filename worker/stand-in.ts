import type { Database } from "@/lib/db";
import type { Logger } from "@/lib/observability/log";
import {
  DueCursor,
  expireJobs,
  LeaseWatch,
  notifyChanges,
  notifyWork,
  promoteDueJobs,
  type RetrySettings,
  rescueExpiredLeases,
  workOffReleases,
} from "@/lib/queue/worker";

/** A leader without a heartbeat for this long is taken for gone. */
const LEADER_GONE_SECONDS = 10;
const BATCH = 500;
/** Batches of a backlog that one call works off. */
const TURNS = 10;

/** Where a worker's sweeps continue when it stands in again. One per process. */
export class StandInCursors {
  readonly due = new DueCursor();
  readonly expiry = new DueCursor();
  readonly leases = new LeaseWatch();
}

interface About {
  readonly cursors: StandInCursors;
  readonly random: () => number;
  readonly log: Logger;
  /** The installation's retry settings. */
  readonly retry?: RetrySettings;
}

/**
 * Does the leader's urgent work while no scheduler leads: makes due jobs claimable, rescues expired leases, ends
 * expired jobs and releases dependents. Several workers may do so at once, because all of it is fenced or idempotent.
 * Never rejects, so the worker keeps claiming.
 */
export async function standInForLeader(
  worker: Database,
  { leaderAgeSeconds, ...about }: { readonly leaderAgeSeconds: number | null } & About,
): Promise<void> {
  if (leaderAgeSeconds !== null && leaderAgeSeconds <= LEADER_GONE_SECONDS) return;
  try {
    await doLeadersWork(worker, about);
  } catch (error) {
    about.log.warn({ err: error }, "standing in for the leader failed");
  }
}

async function doLeadersWork(db: Database, { cursors, random, log, retry }: About): Promise<void> {
  const dueFrom = cursors.due.next(performance.now());
  const promoted = await promoteDueJobs(db, { limit: BATCH, from: dueFrom });
  cursors.due.looked(dueFrom, promoted, performance.now());
  const rescued = await rescueExpiredLeases(db, { limit: BATCH, watch: cursors.leases, random, retry });
  const expiredFrom = cursors.expiry.next(performance.now());
  const expired = await expireJobs(db, { limit: BATCH, from: expiredFrom });
  cursors.expiry.looked(expiredFrom, expired, performance.now());
  const released = await releaseChildren(db);
  if (rescued.unstorable.length > 0) {
    log.error({ job_ids: rescued.unstorable.slice(0, 10) }, "expired leases cannot be rescued");
  }
  const { rescued: back, ended, lost } = rescued;
  if (back + ended > 0) log.warn({ rescued: back, ended, jobs: lost }, "leases expired");
  // A job that ended may have released dependents.
  const laneNos = [...new Set([...promoted.laneNos, ...rescued.laneNos, ...expired.laneNos, ...released])];
  notifyWork(db, laneNos);
  notifyChanges(db, laneNos);
}

async function releaseChildren(db: Database): Promise<number[]> {
  const lanes: number[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const { handled, laneNos } = await workOffReleases(db, { limit: BATCH });
    lanes.push(...laneNos);
    if (handled === 0) break;
  }
  return lanes;
}
