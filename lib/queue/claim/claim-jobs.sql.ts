import { statement } from "@/lib/db";
import { leasedRows } from "../attempts/leased-rows.sql";
import { limitCounts } from "../limits/limit-scope.sql";
import { notPaused } from "../pauses/pauses.sql";
import { claimedColumns, LIVE_COLUMNS, recordOf } from "./claimed-columns.sql";

const IS_PAUSED =
  "(select app.is_paused(n.queue_id, n.definition_id, n.tenant_id) from app.lanes n where n.lane_no = l.lane_no)";
/**
 * app.is_limited of the lane of a row `l`. Inlined, because a call costs several times as much; a test compares the
 * two.
 */
export const IS_LIMITED = `(select exists (
             select 1 from app.concurrency_limits c where (c.tenant_id is null or c.tenant_id = n.tenant_id)
               and ${limitCounts("c", "n")})
           from app.lanes n where n.lane_no = l.lane_no)`;
// Checks once per statement whether any pause or limit exists. Only then is each lane checked.
const IS_OPEN = `${notPaused(IS_PAUSED)}
       and (not (select exists (select 1 from app.concurrency_limits))
         or not ${IS_LIMITED})`;

/** An expired job never begins, not even in the second before `expireJobs` ends it. */
const IS_IN_TIME = "(expires_at is null or expires_at > app.clock())";

/**
 * The instant of the claim. Read after all rows are locked, so the changes that made them ready committed before it.
 */
const MOMENT = "(select at from moment)";

/**
 * Claims up to `$3` ready jobs for the worker `$4`, under leases of `$5[i]` seconds. Takes at most `$2[i]` jobs from
 * lane `$1[i]`, first in sort_key order, from sort_key `$6[i]` on. The first `$7` jobs are marked as begun at once. All
 * jobs are numbered from `$8` on.
 *
 * - Two claimers never get the same job, and neither waits for the other.
 * - Each claimed row gets the next lease number of its job.
 * - A lane that is paused or has a limit returns no job, whatever the claimer believes. Without pauses and limits, this
 *   check costs two lookups per statement.
 * - The claims' instant is read after the last row is locked, so it is later than the end of each job's former lease.
 * - The cost does not depend on a lane's backlog: the ORDER BY is that of the index live_jobs_claim, so there is no
 *   Sort.
 * - Rows are updated by ctid and payloads are read through OFFSET 0, so no planner statistics can reverse a join.
 */
export const claimJobsSql = statement(
  "claim_jobs",
  `with picked as materialized (
     select x.tid, l.lease_seconds, row_number() over () as nth
     from unnest($1::int[], $2::int[], $5::int[], $6::float8[]) with ordinality
       l (lane_no, n, lease_seconds, low, turn)
     cross join lateral (
       select ctid as tid from app.live_jobs where lane_no = l.lane_no and ready and sort_key >= l.low and ${IS_IN_TIME}
       order by sort_key limit l.n for update skip locked) x
     where ${IS_OPEN}
     limit $3
   ), moment as materialized (
     select app.clock() as at from (select count(*) from picked) p
   ), claimed as (
     update app.live_jobs r set state = 'running', ready = false, lease_no = r.lease_no + 1, claimed_by_worker = $4,
       claimed_at = ${MOMENT}, progress = null, progress_message = null,
       attempt_started_at = case when p.nth <= $7 then ${MOMENT} end, claim_no = $8::bigint + p.nth - 1,
       started_at = case when p.nth <= $7 then coalesce(r.started_at, ${MOMENT}) else r.started_at end,
       lease_expires_at = ${MOMENT} + make_interval(secs => p.lease_seconds)
     from picked p where r.ctid = p.tid
     returning ${LIVE_COLUMNS}
   )
   select ${claimedColumns("c", "j")}, c.started, j.payload from claimed c ${recordOf("c.job_id")}`,
);

/**
 * Reserves slots in lanes with limits and never exceeds a limit; see app.reserve_slots. Returns a row whose reservation
 * is null for each lane that a limit stopped. Do not call it in a transaction, because it must commit at once.
 */
export const reserveSlotsSql = statement(
  "reserve_slots",
  "select lane_no, reservation, limited_by_kind, retry_in_ms from app.reserve_slots($1, $2, $3, $4)",
);

/**
 * Claims jobs for the reservations `$1` as the worker `$2`, under leases of `$3[i]` seconds, from sort_key `$4[i]` on,
 * numbered from `$5` on. A reservation that no longer exists claims nothing.
 *
 * The claimed jobs replace the reservation in one transaction, so every count sees one or the other. `claimed_at` is
 * the time of the reservation, when running jobs were counted and rate tokens were taken. A job that became ready, or
 * whose last lease ended, after that time is left for the next claim. Unused rate tokens are returned, unless tokens
 * were taken from the bucket since.
 */
export const claimReservedSql = statement(
  "claim_reserved",
  `with mine as (
     delete from app.claim_reservations r
     using unnest($1::bigint[], $3::int[], $4::float8[]) with ordinality u (id, lease_seconds, low, turn)
     where r.id = u.id returning r.lane_no, r.n, r.reserved_at, u.lease_seconds, u.low, u.turn
   ), reserved as materialized (
     select m.*, n.queue_id, n.definition_id, n.tenant_id from mine m join app.lanes n on n.lane_no = m.lane_no
     order by m.turn
   ), picked as materialized (
     select x.tid, p.turn, p.lease_seconds, p.reserved_at, row_number() over () as nth
     from reserved p
     cross join lateral (
       select ctid as tid, job_id, lease_no from app.live_jobs
       where lane_no = p.lane_no and ready and sort_key >= p.low and ${IS_IN_TIME}
         and not (scheduled_for > p.reserved_at and scheduled_for <= app.clock())
       order by sort_key limit p.n for update skip locked) x
     where ${notPaused("app.is_paused(p.queue_id, p.definition_id, p.tenant_id)")}
       and (x.lease_no = 0 or not exists (select 1 from app.job_attempts a
         where a.job_id = x.job_id and a.attempt_no = x.lease_no and a.finished_at > p.reserved_at))
   ), claimed as (
     update app.live_jobs r set state = 'running', ready = false, lease_no = r.lease_no + 1, claimed_by_worker = $2,
       claimed_at = p.reserved_at, attempt_started_at = null, claim_no = $5::bigint + p.nth - 1,
       progress = null, progress_message = null,
       lease_expires_at = p.reserved_at + make_interval(secs => p.lease_seconds)
     from picked p where r.ctid = p.tid
     returning ${LIVE_COLUMNS}
   ), unused as (
     select p.*, p.n - (select count(*) from picked x where x.turn = p.turn) as unused from reserved p
   ), given_back as (
     update app.rate_buckets b set tokens = least(c.burst, b.tokens + u.unused)
     from unused u cross join lateral app.limits_on(u.queue_id, u.definition_id, u.tenant_id) c
     where u.unused > 0 and c.starts_per_second is not null and b.limit_id = c.id and b.refilled_at = u.reserved_at
       and b.tenant_id is not distinct from (case when c.scope like 'tenant%' then u.tenant_id end)
   )
   select ${claimedColumns("c", "j")}, c.started, j.payload from claimed c ${recordOf("c.job_id")}`,
);

/**
 * Marks attempts as begun if their leases are held. `$3[i]`: milliseconds since the attempt began, if a batch mark
 * already recorded its begin; null for the others, which are marked before their first side effect. A job that has not
 * begun by its expires_at, by the clock after its row is locked, is returned as expired and not marked. If a lease is
 * missing from the answer, it is lost, or another transaction changed its row during the statement.
 */
export const startAttemptsSql = statement(
  "start_attempts",
  `with leased as materialized (
     select r.tid, r.job_id, x.began_ms_ago is null and r.expires_at <= app.clock() as has_expired,
       app.clock() - coalesce(x.began_ms_ago, 0) * interval '1 ms' as began_at
     from unnest($1::uuid[], $2::bigint[], $3::float8[]) x (job_id, lease_no, began_ms_ago)
     cross join lateral (${leasedRows("ctid as tid, job_id, expires_at")} for no key update) r
   ), begun as (
     update app.live_jobs r set attempt_started_at = greatest(r.claimed_at, l.began_at),
       started_at = coalesce(r.started_at, greatest(r.claimed_at, l.began_at))
     from leased l where r.ctid = l.tid and l.has_expired is not true
     returning r.job_id
   )
   select job_id, false as has_expired from begun
   union all select job_id, true from leased where has_expired`,
);
