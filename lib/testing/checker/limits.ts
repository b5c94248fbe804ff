/** A limit on leases, given by the test: none of it is read from the tables. */
export interface Bound {
  readonly name: string;
  /** What is counted together; omitted: everything. */
  readonly tenantId?: string;
  readonly queue?: string;
  readonly definitionKey?: string;
  /** Maximum number of concurrent leases. */
  readonly running?: number;
  /** In any interval of s seconds at most `burst + perSecond * s` leases begin. */
  readonly starts?: { readonly perSecond: number; readonly burst: number };
  /** The limit applies only from here to there, because limits may be changed. */
  readonly from?: Date;
  readonly to?: Date;
}

/** One lease, in milliseconds; an active lease ends at infinity. */
export interface RunningSpan {
  readonly tenantId: string;
  readonly queue: string;
  readonly definitionKey: string;
  readonly claimedAt: number;
  readonly endedAt: number;
}

/** All leases ever granted, including rescued ones. */
export const SPANS_SQL = `
  with spans as (
    select job_id, claimed_at, finished_at from app.job_attempts where worker_id is not null
    union all
    select job_id, claimed_at, null from app.live_jobs where state = 'running')
  select j.tenant_id, q.name as queue, d.key as definition_key,
    extract(epoch from s.claimed_at)::float8 * 1000 as claimed_at,
    extract(epoch from s.finished_at)::float8 * 1000 as ended_at
  from spans s join app.jobs j on j.id = s.job_id
  join app.lanes l on l.lane_no = j.lane_no join app.job_queues q on q.id = l.queue_id
  join app.job_definitions d on d.id = j.definition_id`;

/** Returns by how much a limit was exceeded at worst; 0 if it was kept. */
export function overstepped(bound: Bound, spans: readonly RunningSpan[]): number {
  const counted = spans.filter(
    (span) =>
      (bound.tenantId ?? span.tenantId) === span.tenantId &&
      (bound.queue ?? span.queue) === span.queue &&
      (bound.definitionKey ?? span.definitionKey) === span.definitionKey,
  );
  return Math.max(overRunning(bound, counted), overStarts(bound, counted));
}

function overRunning({ running, from, to }: Bound, spans: readonly RunningSpan[]): number {
  if (running === undefined) return 0;
  // A lease that ends at an instant does not overlap one that begins there.
  const turns = spans
    .flatMap(({ claimedAt, endedAt }) => [
      { at: claimedAt, by: 1 },
      { at: endedAt, by: -1 },
    ])
    .sort((a, b) => a.at - b.at || a.by - b.by);
  let leased = 0;
  let worst = 0;
  for (const { at, by } of turns) {
    leased += by;
    // Leases from before a lower limit may continue; only a lease that begins under it can break it.
    if (by > 0 && isWithin(at, from, to)) worst = Math.max(worst, leased - running);
  }
  return worst;
}

function overStarts({ starts, from, to }: Bound, spans: readonly RunningSpan[]): number {
  if (starts === undefined) return 0;
  const begun = spans
    .map(({ claimedAt }) => claimedAt)
    .filter((at) => isWithin(at, from, to))
    .sort((a, b) => a - b);
  // For the starts from the i-th to the j-th: the maximum of (j + 1 − rate·t_j) − (i − rate·t_i) over all i ≤ j.
  let least = Number.POSITIVE_INFINITY;
  let worst = 0;
  begun.forEach((at, index) => {
    const allowed = (starts.perSecond * at) / 1000;
    least = Math.min(least, index - allowed);
    worst = Math.max(worst, index + 1 - allowed - least - starts.burst);
  });
  // Sums of milliseconds since 1970 are exact to about a thousandth of a start.
  return worst > 0.01 ? Math.ceil(worst) : 0;
}

const isWithin = (at: number, from?: Date, to?: Date): boolean =>
  (from === undefined || at >= from.getTime()) && (to === undefined || at < to.getTime());
