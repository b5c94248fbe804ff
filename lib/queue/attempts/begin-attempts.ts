import type { Runner } from "@/lib/db";
import { leasesUnderSql, markBegunSql, openMarksSql } from "./begin-attempts.sql";
import type { Lease } from "./types";

/** A range of claim numbers, both ends included. */
export type Numbers = readonly [first: number, last: number];

/** Marks which of a worker's numbered jobs have begun. */
export interface BegunMark {
  readonly workerId: string;
  /** All jobs up to this number have begun, except those in `waiting`. */
  readonly upto: number;
  /** Numbers of jobs that have not begun. */
  readonly waiting: readonly Numbers[];
  /** The value that `openMarks` returned. */
  readonly taken: number;
}

/**
 * Returns the `taken` value that `markBegun` needs, or null for a worker that is not registered. Marks with an earlier
 * value are rejected from then on.
 */
export async function openMarks(db: Runner, workerId: string): Promise<number | null> {
  const [row] = await db.run<{ taken: number }>(openMarksSql, [workerId]);
  return row?.taken ?? null;
}

/**
 * Marks attempts as begun in one write, before their first side effect. Returns false and marks nothing if leases were
 * taken from this worker since `openMarks`; then each lease has to be checked with `startAttempts`. The mark survives
 * the end of the worker, but may not survive a crash of the database server.
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

/** Returns the leases that a worker has claimed under these numbers and that have not ended. */
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
