import type { Runner } from "@/lib/db";
import { leasesUnderSql, markBegunSql, openMarksSql } from "./begin-attempts.sql";
import type { Lease } from "./types";

/** Numbers from the first to the last, both included. */
export type Numbers = readonly [first: number, last: number];

/** Which of the jobs that a worker has claimed under numbers have begun. */
export interface BegunMark {
  readonly workerId: string;
  /** All up to this number … */
  readonly upto: number;
  /** … but these. */
  readonly waiting: readonly Numbers[];
  /** What `openStarts` answered. */
  readonly taken: number;
}

/** What `noteStarts` has to know of leases taken from a worker; null for one that is not registered. It ends older notes. */
export async function openMarks(db: Runner, workerId: string): Promise<number | null> {
  const [row] = await db.run<{ taken: number }>(openMarksSql, [workerId]);
  return row?.taken ?? null;
}

/**
 * Says all at once which attempts have begun, before their first side effect. False, and nothing is noted, when leases
 * were taken from this worker since `openStarts`: then each lease has to be looked at (`startAttempts`). It survives
 * the end of the worker; that of the database server, it may not.
 */
export async function markBegun(db: Runner, { workerId, upto, waiting, taken }: BegunMark): Promise<boolean> {
  const rows = await db.run(markBegunSql, [workerId, upto, multirange(waiting), taken]);
  return rows.length > 0;
}

const multirange = (numbers: readonly Numbers[]): string =>
  `{${numbers.map(([first, last]) => `[${first},${last}]`).join(",")}}`;

interface NumberedLease extends Lease {
  readonly tenantId: string;
  readonly laneNo: number;
}

/** Leases that a worker has claimed under these numbers and that have not ended. */
export async function leasesUnder(
  db: Runner,
  { workerId, numbers }: { readonly workerId: string; readonly numbers: readonly Numbers[] },
): Promise<NumberedLease[]> {
  const rows = await db.run<{ job_id: string; lease_no: number; tenant_id: string; lane_no: number }>(leasesUnderSql, [
    workerId,
    multirange(numbers),
  ]);
  return rows.map(({ job_id, lease_no, tenant_id, lane_no }) => ({
    jobId: job_id,
    leaseNo: lease_no,
    tenantId: tenant_id,
    laneNo: lane_no,
  }));
}
