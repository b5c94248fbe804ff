/**
 * Claiming: takes ready jobs from lanes under leases, and marks their attempts as begun. Two claimers never get the
 * same job, and limits hold across all claimers. A job that is not ready costs a claim nothing.
 *
 * Start with `claimFromLanes`, then read claimJobsSql in claim-jobs.sql.ts. Which lanes to ask, and for how many jobs,
 * is decided in lib/queue/lanes; how attempts end, in lib/queue/attempts.
 */
import type { Runner } from "@/lib/db";
import { readLeasesSql } from "../attempts/settle-attempts.sql";
import type { Claim, ClaimedJob, LaneRequest, Lease, LimitedLane } from "../attempts/types";
import { claimJobsSql, claimReservedSql, reserveSlotsSql, startAttemptsSql } from "./claim-jobs.sql";

export interface ClaimRequest {
  readonly workerId: string;
  /** Claimed from in this order, limited lanes before the others; see `claimFromLanes`. */
  readonly lanes: readonly LaneRequest[];
  /** Maximum number of jobs over all lanes. */
  readonly limit: number;
  /**
   * The number of free slots. Jobs from limited lanes take theirs first and are not begun by the claim. For each slot
   * that is left, the claim marks one job from another lane as begun, in the same statement.
   */
  readonly startAtOnce?: number;
  /** The first of `limit` claim numbers for the claimed jobs. */
  readonly firstNo?: number;
}

/** A claimed job as the claim statements return it. */
export interface ClaimedRow {
  job_id: string;
  lease_no: number;
  tenant_id: string;
  lane_no: number;
  priority: number;
  claimed_at: Date;
  sort_key: number;
  started: boolean;
  claim_no: number | string | null;
  definition_id: string;
  definition_version: number;
  payload: unknown;
  max_attempts: number;
  correlation_id: string | null;
  unusual: UnusualOfJob | null;
}

/** Values that few jobs have; see `claimedColumns`. */
interface UnusualOfJob {
  run_no: number;
  attempts_spent: number;
  timeouts: number;
  snoozes: number;
  reclaims: number;
  chain_depth: number;
  timeout_seconds: number | null;
  retry_delay_seconds: number | null;
  retry_multiplier: number | null;
  expires_in_ms: number | null;
}

const USUAL: UnusualOfJob = {
  run_no: 1,
  attempts_spent: 0,
  timeouts: 0,
  snoozes: 0,
  reclaims: 0,
  chain_depth: 0,
  timeout_seconds: null,
  retry_delay_seconds: null,
  retry_multiplier: null,
  expires_in_ms: null,
};

/** Slots reserved in a lane, or the limit that left none. */
interface ReservedRow {
  lane_no: number;
  reservation: string | number | null;
  limited_by_kind: LimitedLane["by"] | null;
  retry_in_ms: number | null;
}

/**
 * Claims ready jobs, each under its own lease. Two claimers never get the same job; a job that is not ready costs
 * nothing.
 */
export async function claimJobs(db: Runner, request: ClaimRequest): Promise<ClaimedJob[]> {
  return [...(await claimFromLanes(db, request)).jobs];
}

/**
 * Claims as `claimJobs` does, and also returns the lanes with jobs that a limit kept from being claimed. Lanes with and
 * without limits take separate statements. Limited lanes first get the slots that the order of the lanes gives them,
 * then the other lanes get the rest. If slots are left and the limited lanes used all of theirs, the limited lanes are
 * claimed from once more.
 * @throws Error if a lane has limits and `db` is a transaction, because the reservation has to commit first
 */
export async function claimFromLanes(db: Runner, request: ClaimRequest): Promise<Claim> {
  const limited = request.lanes.filter((lane) => lane.limited);
  const open = request.lanes.filter((lane) => !lane.limited);
  if (limited.length === 0) return { jobs: await claimOpen(db, request), limitedLanes: [] };
  const planned = open.length === 0 ? request.limit : slotsOfLimited(request);
  const first = await claimLimited(db, { ...request, lanes: limited, limit: planned });
  const startAtOnce = Math.max(0, (request.startAtOnce ?? 0) - first.jobs.length);
  const rest = { ...request, ...numbersAfter(request, first.jobs.length) };
  const jobs = await claimOpen(db, { ...rest, lanes: open, limit: request.limit - first.jobs.length, startAtOnce });
  const left = request.limit - first.jobs.length - jobs.length;
  if (left === 0 || first.jobs.length < planned)
    return { jobs: [...first.jobs, ...jobs], limitedLanes: first.limitedLanes };
  const numbers = numbersAfter(request, first.jobs.length + jobs.length);
  const more = await claimLimited(db, { ...request, ...numbers, lanes: limited, limit: left });
  return { jobs: [...first.jobs, ...jobs, ...more.jobs], limitedLanes: more.limitedLanes };
}

/** The claim numbers that are left after `count` jobs. */
const numbersAfter = ({ firstNo }: ClaimRequest, count: number): Pick<ClaimRequest, "firstNo"> =>
  firstNo === undefined ? {} : { firstNo: firstNo + count };

/** Counts the slots that go to lanes with limits if the lanes take theirs in order. */
function slotsOfLimited({ lanes, limit }: ClaimRequest): number {
  let left = limit;
  let slots = 0;
  for (const lane of lanes) {
    const taken = Math.min(left, lane.limit);
    left -= taken;
    if (lane.limited) slots += taken;
  }
  return slots;
}

async function claimOpen(db: Runner, request: ClaimRequest): Promise<ClaimedJob[]> {
  if (request.lanes.length === 0 || request.limit < 1) return [];
  const values = [...claimValues(request), request.startAtOnce ?? 0, request.firstNo ?? null];
  return claimedJobs(await db.run<ClaimedRow>(claimJobsSql, values), request);
}

/** Reserves slots under the limits' locks, then claims jobs for them, so other claimers wait for the counting only. */
async function claimLimited(db: Runner, { lanes, limit, workerId, firstNo }: ClaimRequest): Promise<Claim> {
  if (lanes.length === 0 || limit < 1) return { jobs: [], limitedLanes: [] };
  if ("inTransaction" in db) throw new Error("claims under limits have transactions of their own");
  const asked = new Map(lanes.map((lane) => [lane.laneNo, lane]));
  const rows = await db.run<ReservedRow>(reserveSlotsSql, [
    lanes.map((lane) => lane.laneNo),
    lanes.map((lane) => lane.limit),
    limit,
    lanes.map(lowestOf),
  ]);
  const limitedLanes = rows.flatMap((row) =>
    row.limited_by_kind === null ? [] : [{ laneNo: row.lane_no, by: row.limited_by_kind, retryInMs: row.retry_in_ms }],
  );
  const slots = rows.flatMap(({ reservation, lane_no }) => {
    const lane = asked.get(lane_no);
    return reservation === null || !lane ? [] : [{ reservation, lane }];
  });
  if (slots.length === 0) return { jobs: [], limitedLanes };
  const claimed = await db.run<ClaimedRow>(claimReservedSql, [
    slots.map(({ reservation }) => reservation),
    workerId,
    slots.map(({ lane }) => lane.leaseSeconds),
    slots.map(({ lane }) => lowestOf(lane)),
    firstNo ?? null,
  ]);
  return { jobs: claimedJobs(claimed, { lanes }), limitedLanes };
}

/** Derives the end of each lease from the request, because each column returned costs throughput. */
function claimedJobs(rows: readonly ClaimedRow[], { lanes }: Pick<ClaimRequest, "lanes">): ClaimedJob[] {
  const seconds = new Map(lanes.map(({ laneNo, leaseSeconds }) => [laneNo, leaseSeconds]));
  return rows.map((row) => toClaimedJob(row, seconds.get(row.lane_no) ?? 1));
}

const lowestOf = (lane: LaneRequest): number => lane.from ?? Number.NEGATIVE_INFINITY;

function claimValues({ lanes, limit, workerId }: ClaimRequest): unknown[] {
  return [
    lanes.map((lane) => lane.laneNo),
    lanes.map((lane) => lane.limit),
    limit,
    workerId,
    lanes.map((lane) => lane.leaseSeconds),
    lanes.map(lowestOf),
  ];
}

/** Job ids by result. A job whose lease is lost is in neither list. */
export interface StartedAttempts {
  readonly begun: readonly string[];
  /**
   * Jobs whose expires_at passed before they began. The worker gives them back without spending an attempt, and
   * `expireJobs` ends them.
   */
  readonly expired: readonly string[];
}

/**
 * Marks attempts as begun, before their first side effect. An attempt with `beganAt` (by `performance.now()`) has begun
 * already, so it is marked even after its job's expires_at.
 */
export async function startAttempts(
  db: Runner,
  leases: readonly (Lease & { readonly beganAt?: number | undefined })[],
): Promise<StartedAttempts> {
  const begun = new Set<string>();
  const expired = new Set<string>();
  for (let asked = leases; asked.length > 0; ) {
    const values = [...leaseArrays(asked), beganArray(asked)];
    const rows = await db.run<{ job_id: string; has_expired: boolean }>(startAttemptsSql, values);
    for (const row of rows) (row.has_expired ? expired : begun).add(row.job_id);
    const missing = asked.filter(({ jobId }) => !begun.has(jobId) && !expired.has(jobId));
    // The statement skips a row that another transaction changed during it. If its lease is still held, ask again.
    asked = missing.length === 0 ? [] : await leasedOf(db, missing);
  }
  return { begun: [...begun], expired: [...expired] };
}

async function leasedOf<L extends Lease>(db: Runner, leases: readonly L[]): Promise<L[]> {
  const rows = await db.run<{ job_id: string }>(readLeasesSql, leaseArrays(leases));
  const leased = new Set(rows.map((row) => row.job_id));
  return leases.filter(({ jobId }) => leased.has(jobId));
}

const LONGEST_MS = 1e12;

/** Returns how long ago an attempt began, in whole milliseconds; null if its own row says when. */
export const msSinceBegun = ({ beganAt }: { readonly beganAt?: number | undefined }): number | null =>
  beganAt === undefined ? null : Math.min(LONGEST_MS, Math.round(performance.now() - beganAt));

/** Formats an array of values that need no quotes for PostgreSQL, much cheaper than the driver's general conversion. */
const plainArray = (values: readonly (string | number)[]): string => `{${values.join(",")}}`;

/** Returns leases as the two parallel arrays that the fenced statements take. */
export function leaseArrays(leases: readonly Lease[]): [jobIds: string, leaseNos: string] {
  return [plainArray(leases.map(({ jobId }) => jobId)), plainArray(leases.map(({ leaseNo }) => leaseNo))];
}

/** Returns how long ago attempts began, as an array; see `msSinceBegun`. */
export const beganArray = (began: readonly { readonly beganAt?: number | undefined }[]): string =>
  plainArray(began.map((one) => msSinceBegun(one) ?? "null"));

export function toClaimedJob(row: ClaimedRow, leaseSeconds: number): ClaimedJob {
  const own = row.unusual ?? USUAL;
  return {
    jobId: row.job_id,
    leaseNo: Number(row.lease_no),
    tenantId: row.tenant_id,
    laneNo: row.lane_no,
    priority: row.priority,
    runNo: own.run_no,
    attemptsSpent: own.attempts_spent,
    timeouts: own.timeouts,
    snoozes: own.snoozes,
    reclaims: own.reclaims,
    claimedAt: row.claimed_at,
    leaseSeconds,
    sortKey: row.sort_key,
    hasBegun: row.started,
    expiresInMs: own.expires_in_ms,
    claimNo: row.claim_no === null ? null : Number(row.claim_no),
    definitionId: row.definition_id,
    definitionVersion: row.definition_version,
    payload: row.payload,
    maxAttempts: row.max_attempts,
    timeoutSeconds: own.timeout_seconds,
    retryDelaySeconds: own.retry_delay_seconds,
    retryMultiplier: own.retry_multiplier,
    correlationId: row.correlation_id,
    chainDepth: own.chain_depth,
  };
}
