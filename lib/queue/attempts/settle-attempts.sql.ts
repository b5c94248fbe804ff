import { statement } from "@/lib/db";
import { RELEASED } from "../dependencies/dependencies.sql";
import { counted } from "./counted.sql";
import { publishedOf } from "./job-events.sql";
import { leasedRows } from "./leased-rows.sql";
import { RELEASE_KEYS } from "./release-keys.sql";

/** The columns of one attempt's end, as the statements below read them from their JSON argument. */
const END = `(job_id uuid, lease_no bigint, status text, outcome text, retry_in_seconds double precision, spent boolean,
  suspect boolean, began_ms_ago double precision, error_type text, error_text text, result jsonb, pid int, exit_code int, signal text,
  stdout_tail text, stderr_tail text, stdout_bytes bigint, stderr_bytes bigint, dropped_bytes bigint, cpu_ms bigint,
  peak_rss_bytes bigint)`;

/** What an attempt stores beside its result. */
const DETAILS = [
  "pid",
  "exit_code",
  "signal",
  "error_type",
  "error_text",
  "stdout_tail",
  "stderr_tail",
  "stdout_bytes",
  "stderr_bytes",
  "dropped_bytes",
  "cpu_ms",
  "peak_rss_bytes",
] as const;

/** Returns the columns, each after a comma. */
const listed = (columns: readonly string[], from = ""): string =>
  columns.map((column) => `, ${from}${column}`).join("");

const attemptColumns = (details: readonly string[]): string =>
  `job_id, attempt_no, tenant_id, run_no, status, worker_id, claimed_at, started_at, finished_at, progress,
       progress_message${listed(details)}`;

const attemptValues = (at: string, details: readonly string[]): string =>
  `${at}.job_id, ${at}.lease_no, ${at}.tenant_id, ${at}.run_no, ${at}.status, ${at}.claimed_by_worker, ${at}.claimed_at,
       ${at}.attempt_started_at, app.clock(), ${at}.progress, ${at}.progress_message${listed(details, `${at}.`)}`;

/** When the attempt of `r` began: from its own row, or from its worker in `x`. */
const BEGAN_AT = `coalesce(r.attempt_started_at, case when x.began_ms_ago is not null
         then greatest(r.claimed_at, app.now() - x.began_ms_ago * interval '1 ms') end)`;

const COUNT_ENDED = `counted as (
     insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n, wait_ms, run_ms)
     select e.tenant_id, l.definition_id, app.now(), e.outcome, e.n, e.wait_ms, e.run_ms
     from (
       select tenant_id, lane_no, outcome, count(*) as n,
         coalesce(sum(extract(epoch from claimed_at - scheduled_for) * 1000)::bigint, 0) as wait_ms,
         coalesce(sum(extract(epoch from app.now() - coalesce(attempt_started_at, claimed_at)) * 1000)::bigint, 0) as run_ms
       from ended group by tenant_id, lane_no, outcome) e
     join app.lanes l on l.lane_no = e.lane_no
   )`;

/**
 * Ends the runs of the jobs whose leases are held. This one statement deletes the live row, stores the outcome in the
 * attempt row, frees the dedupe key and counts the end. A lease missing from the answer is lost or locked, and nothing
 * was written for it. Rows that another transaction holds are skipped, so an enqueuing caller never blocks a batch.
 */
export const finishAttemptsSql = statement(
  "finish_attempts",
  finishing(`select x.* from jsonb_to_recordset($1::jsonb) as x ${END}`, DETAILS),
);

/**
 * Ends attempts that succeeded and left only a result: the leases `$1`, `$2` with the results `$3` as JSON texts.
 * `$4[i]` is how many milliseconds ago an attempt began whose own row does not say when. Otherwise the same as
 * `finishAttemptsSql`. Most ends are of this kind, and arrays cost half of what JSON does.
 */
export const finishSucceededSql = statement(
  "finish_succeeded",
  finishing(
    `select x.job_id, x.lease_no, 'succeeded' as status, 'succeeded' as outcome, true as spent, x.result::jsonb as result,
       x.began_ms_ago
     from unnest($1::uuid[], $2::bigint[], $3::text[], $4::float8[]) x (job_id, lease_no, result, began_ms_ago)`,
    [],
  ),
);

/** How long `finishPlainSql` waits for a row. Rows held longer are left to the statement that skips them. */
const PLAIN_LOCK_MS = 50;

/**
 * Ends successes as `finishSucceededSql` does, but only of jobs without dependents, listeners and dedupe key, as most
 * are. Leaving out the work for the others saves more than half of a small batch's time. `done` is null if all jobs
 * ended, otherwise the ids of those that did; `finishSucceededSql` takes the rest.
 *
 * Rows are not locked before they are deleted, because that costs a third of the whole. The delete waits up to
 * lock_timeout for a row that another transaction is changing, and skips the row if it was changed. (Servers before
 * 15.15, 16.11, 17.7 and 18.1 do not compare the ctid again after the wait, so the delete repeats the other
 * conditions.)
 */
export const finishPlainSql = statement(
  "finish_plain",
  `with leased as materialized (
     select r.*, x.result::jsonb as result, x.began_ms_ago
     from unnest($1::uuid[], $2::bigint[], $3::text[], $4::float8[]) x (job_id, lease_no, result, began_ms_ago)
     cross join lateral (${leasedRows("ctid as tid, job_id, lease_no")} and not has_dedupe_key and not has_dependents
       and (not (select exists (select 1 from app.job_listeners))
            or not exists (select 1 from app.job_listeners k where k.tenant_id = live_jobs.tenant_id))
       offset 0) r
     where (select set_config('lock_timeout', '${PLAIN_LOCK_MS}', true)) is not null
   ), ended as (
     delete from app.live_jobs r using leased x
     where r.ctid = x.tid and (r.job_id, r.lease_no) is not distinct from (x.job_id, x.lease_no)
       and r.lease_expires_at is not null and not r.has_dedupe_key and not r.has_dependents
     returning r.job_id, r.lease_no, r.tenant_id, r.lane_no, r.run_no, r.claimed_by_worker, r.claimed_at,
       r.scheduled_for, ${BEGAN_AT} as attempt_started_at, coalesce(r.started_at, ${BEGAN_AT}) as run_started_at, r.progress, r.progress_message,
       r.attempts_spent + 1 as attempt_count, 'succeeded' as status, 'succeeded' as outcome, x.result
   ), attempt as (
     insert into app.job_attempts (${attemptColumns([])}, outcome, run_started_at, attempt_count, result)
     select ${attemptValues("e", [])}, e.outcome, e.run_started_at, e.attempt_count, e.result from ended e
   ), ${COUNT_ENDED}
   select case when count(*) < cardinality($1) then coalesce(array_agg(job_id), '{}') end as done from ended`,
);

/**
 * Returns the statement that ends the runs of the given attempts.
 * @param asked a query that returns the ends
 * @param details the columns beside the result that `asked` returns
 */
function finishing(asked: string, details: readonly string[]): string {
  return `with leased as materialized (
     select r.tid, x.status, x.outcome, x.result, x.spent, x.began_ms_ago${listed(details, "x.")}
     from (${asked}) x cross join lateral (${leasedRows("ctid as tid")} for update skip locked) r
   ), ended as (
     delete from app.live_jobs r using leased x where r.ctid = x.tid
     returning r.job_id, r.lease_no, r.tenant_id, r.lane_no, r.run_no, r.claimed_by_worker, r.claimed_at,
       r.scheduled_for, ${BEGAN_AT} as attempt_started_at, coalesce(r.started_at, ${BEGAN_AT}) as run_started_at,
       r.has_dedupe_key, r.has_dependents,
       r.progress, r.progress_message, r.attempts_spent + x.spent::int as attempt_count, x.status, x.outcome, x.result${listed(details, "x.")}
   ), attempt as (
     insert into app.job_attempts (${attemptColumns(details)}, outcome, run_started_at, attempt_count, result)
     select ${attemptValues("e", details)}, e.outcome, e.run_started_at, e.attempt_count, e.result
     from ended e
     returning job_id
   ), ${RELEASE_KEYS}, ${COUNT_ENDED}, ${publishedOf("e.outcome")}
   select job_id, ${RELEASED} as released from ended`;
}

/**
 * Puts jobs back into the queue for the holders of their leases: retry, release, snooze, rescue. Skips a job with a
 * cancel request, which has to end instead, and a lease that is lost or locked. `$2` (0 or 1) is added to reclaims; an
 * end that makes its job a suspect adds 1 even if `$2` is 0.
 */
export const requeueAttemptsSql = statement(
  "requeue_attempts",
  `with leased as materialized (
     select r.tid, r.claimed_by_worker as worker, r.claimed_at as claimed, ${BEGAN_AT} as attempt_started, x.status,
       x.retry_in_seconds, x.spent, x.suspect${listed(DETAILS, "x.")}
     from jsonb_to_recordset($1::jsonb) as x ${END} cross join lateral (
       ${leasedRows("ctid as tid, claimed_by_worker, claimed_at, attempt_started_at")}
         and cancel_requested_at is null for update skip locked) r
   ), back as (
     update app.live_jobs r set state = 'queued', ready = x.retry_in_seconds <= 0,
       scheduled_for = case when x.retry_in_seconds <= 0 then r.scheduled_for
                            else app.now() + make_interval(secs => x.retry_in_seconds) end,
       sort_key = case when x.retry_in_seconds <= 0 then r.sort_key
                       else app.sort_key_of(app.now() + make_interval(secs => x.retry_in_seconds), r.priority) end,
       started_at = coalesce(r.started_at, x.attempt_started),
       attempts_spent = r.attempts_spent + x.spent::int, reclaims = r.reclaims + greatest($2::int, coalesce(x.suspect, false)::int),
       timeouts = r.timeouts + (x.status = 'timeout')::int, snoozes = r.snoozes + (x.status = 'snoozed')::int,
       claimed_by_worker = null, claimed_at = null, attempt_started_at = null, lease_expires_at = null, pid = null
     from leased x where r.ctid = x.tid
     returning r.job_id, r.lease_no, r.tenant_id, r.lane_no, r.run_no, x.worker as claimed_by_worker,
       x.claimed as claimed_at, x.attempt_started as attempt_started_at, r.progress, r.progress_message, r.ready,
       r.scheduled_for, x.status, x.spent${listed(DETAILS, "x.")}
   ), attempt as (
     insert into app.job_attempts (${attemptColumns(DETAILS)}, retry_at)
     select ${attemptValues("b", DETAILS)}, b.scheduled_for from back b
   ), ${counted("attempt_failed", "back", "x.spent")}
   select job_id, lane_no, ready from back`,
);

/**
 * Reads which leases that a statement above skipped are still held (locked by another transaction at that moment), and
 * which of their jobs have a cancel request.
 */
export const readLeasesSql = statement(
  "read_leases",
  `select r.job_id, r.cancel_requested_at is not null as cancel_requested
   from unnest($1::uuid[], $2::bigint[]) x (job_id, lease_no)
   cross join lateral (${leasedRows("job_id, cancel_requested_at")} offset 0) r`,
  { repeatable: true },
);
