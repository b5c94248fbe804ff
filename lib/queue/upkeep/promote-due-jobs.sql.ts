import { statement } from "@/lib/db";
import { counted } from "../attempts/counted.sql";
import { publishedOf } from "../attempts/job-events.sql";
import { KEY_IS_FREE, RELEASE_KEYS } from "../attempts/release-keys.sql";
import { RELEASED } from "../dependencies/dependencies.sql";

/**
 * Where the next partial scan of an index of due rows begins. It goes back five seconds, to include rows whose
 * transaction committed late. `due` has the rows of this scan and their `at`; `$1` is the most rows.
 */
const LOOKED_TO =
  "(select case when count(*) < $1 then app.now() else max(at) end - interval '5 s' from due) as looked_to";

/**
 * Makes up to `$1` jobs claimable that came due at `$2` or later, oldest first. Returns the lanes with new ready jobs,
 * or one row without a lane.
 */
export const promoteDueSql = statement(
  "promote_due",
  `with due as materialized (
     select ctid as tid, scheduled_for as at from app.live_jobs
     where state = 'queued' and not ready and scheduled_for <= app.now() and scheduled_for >= $2::timestamptz
     order by scheduled_for limit $1 for update skip locked
   ), promoted as (
     update app.live_jobs r set ready = true from due where r.ctid = due.tid returning r.lane_no
   )
   select p.lane_no, p.n, x.looked_to from (select ${LOOKED_TO}) x
   left join (select lane_no, count(*)::int as n from promoted group by lane_no) p on true`,
);

/** Tenants whose waiting jobs one statement checks, and the most jobs that each of them gets. */
const LOOKS_AT_TENANTS = 1000;
const OF_A_TENANT = 20;

/**
 * Query for up to `$1` rows of `due`, whose tenants take turns, beginning after the tenant `$2`. `waiting` are the rows
 * of an index by tenant and `at`. Reads at most 1,000 tenants and 20 rows of each, whatever the backlog. The next tenant
 * is read in the order of that index, because in any other order a tenant could have many rows that do not match.
 */
const inTurns = (waiting: string, at: string, isFree = "true"): string => `with recursive looked (tenant_id, n) as (
     select (select l.tenant_id from app.live_jobs l where ${waiting} and l.tenant_id > $2
       order by l.tenant_id, ${at} limit 1), 1
     union all
     select (select l.tenant_id from app.live_jobs l where ${waiting} and l.tenant_id > k.tenant_id
       order by l.tenant_id, ${at} limit 1), k.n + 1
     from looked k where k.tenant_id is not null and k.n < ${LOOKS_AT_TENANTS}
   ), due as materialized (
     select k.tenant_id, d.tid from looked k
     cross join lateral (select l.ctid as tid from app.live_jobs l where l.tenant_id = k.tenant_id and ${waiting}
       and ${at} <= app.now() and ${isFree} order by ${at} limit ${OF_A_TENANT} for update of l skip locked) d
     limit $1
   ), served as (
     select case when (select count(*) from due) < $1
       then (select case when count(*) = ${LOOKS_AT_TENANTS} then max(tenant_id::text) end from looked where tenant_id is not null)
       else (select max(tenant_id::text) from due) end as looked_to
   )`;

const NOT_READY = "l.state = 'queued' and not l.ready";
const EXPIRES = "l.expires_at is not null and l.state <> 'running'";

/**
 * Makes up to `$1` due jobs claimable, up to 20 of each tenant, beginning after the tenant `$2`. Returns lanes as
 * `promoteDueSql` does; `looked_to` is the tenant where the next call continues, null = at the beginning.
 */
export const promoteInTurnsSql = statement(
  "promote_in_turns",
  `${inTurns(NOT_READY, "l.scheduled_for")}, promoted as (
     update app.live_jobs r set ready = true from due where r.ctid = due.tid returning r.lane_no
   )
   select p.lane_no, p.n, x.looked_to from served x
   left join (select lane_no, count(*)::int as n from promoted group by lane_no) p on true`,
);

/**
 * Locks up to `$1` waiting jobs whose expires_at has passed and is `$2` or later, longest overdue first. Each is
 * checked again when it is ended.
 */
export const dueToExpireSql = statement("due_to_expire", overdue("l.job_id"));

/**
 * Ends up to `$1` waiting jobs whose expires_at has passed and is `$2` or later, so that no further attempt runs.
 * Skips locked jobs.
 */
export const expireWaitingSql = statement(
  "expire_waiting",
  expiring(listed(overdue("l.ctid as tid, l.expires_at as at")), LOOKED_TO),
);

/**
 * Ends up to `$1` overdue waiting jobs, up to 20 of each tenant, beginning after the tenant `$2`. `looked_to` is the
 * tenant where the next call continues, null = at the beginning.
 */
export const expireInTurnsSql = statement(
  "expire_in_turns",
  expiring(inTurns(EXPIRES, "l.expires_at", KEY_IS_FREE), "(select looked_to from served) as looked_to"),
);

/** Like `expireWaitingSql`, for the given jobs. */
export const expireTheseSql = statement(
  "expire_these",
  expiring(
    listed(`select r.tid from unnest($1::uuid[]) x (job_id)
     cross join lateral (select ctid as tid from app.live_jobs where job_id = x.job_id and expires_at <= app.now()
       and state <> 'running' for update skip locked) r`),
  ),
);

/**
 * Locks up to `$1` waiting jobs past their expires_at, from `$2` on, whose rows and keys no other
 * transaction has locked.
 */
function overdue(columns: string): string {
  return `select ${columns} from app.live_jobs l
     where l.expires_at <= app.now() and l.expires_at >= $2::timestamptz and l.expires_at is not null and l.state <> 'running' and ${KEY_IS_FREE}
     order by l.expires_at limit $1 for update of l skip locked`;
}

function listed(due: string): string {
  return `with due as materialized (${due})`;
}

/** @param due begins the statement with a CTE `due`, which locks the rows to end */
function expiring(due: string, lookedTo = "null::timestamptz as looked_to"): string {
  return `${due}, ended as (
     delete from app.live_jobs r using due where r.ctid = due.tid
     returning r.job_id, r.lease_no, r.tenant_id, r.lane_no, r.run_no, r.started_at, r.attempts_spent, r.has_dedupe_key,
       r.has_dependents
   ), attempt as (
     insert into app.job_attempts (job_id, attempt_no, tenant_id, run_no, status, finished_at, outcome, run_started_at,
       attempt_count, error_type, error_text)
     select job_id, lease_no + 1, tenant_id, run_no, 'expired', app.clock(), 'expired', started_at, attempts_spent,
       'expired', case when started_at is null then 'It had not started when its expires_at passed.'
         else 'Its expires_at passed while it waited for its next attempt.' end from ended
     returning job_id
   ), ${RELEASE_KEYS}, ${counted("expired", "ended")}, ${publishedOf("'expired'")}
   select e.lane_no, e.n, e.released, x.looked_to from (select ${lookedTo}) x
   left join (select lane_no, count(*)::int as n, ${RELEASED} as released from ended group by lane_no) e on true`;
}
