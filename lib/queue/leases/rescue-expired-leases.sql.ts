import { statement } from "@/lib/db";
import { HAS_BEGUN } from "../attempts/begin-attempts.sql";
import { leasedRows } from "../attempts/leased-rows.sql";
import { KEY_IS_FREE } from "../attempts/release-keys.sql";

// A lease is at most an hour long. A later expiry comes from another clock (a restored backup, a server whose clock was
// set back). Such a lease counts as expired, because waiting for it could take any time.
const IS_OVER = "(lease_expires_at < app.now() or lease_expires_at > app.now() + interval '2 hours')";

/**
 * Lists and locks running jobs with an expired lease, with all that the retry decision needs.
 * Jobs that another transaction has locked do not count towards the `$1` rows. The decision is written by the fenced
 * statements of settle-attempts, so a job that was renewed, settled or claimed again since is not changed.
 */
export const expiredLeasesSql = statement("expired_leases", expired("l.state = 'running'"));

/**
 * Like `expiredLeasesSql`, for the jobs `$2` only. Only running jobs have leases; a condition on the state would let a
 * plan use the index of running jobs.
 */
export const expiredOfTheseSql = statement("expired_of_these", expired("l.job_id = any ($2::uuid[])"));

/** Running jobs whose lease expires within `$1` seconds unless renewed. */
export const leasesOverSoonSql = statement(
  "leases_over_soon",
  `select job_id from app.live_jobs
   where state = 'running' and lease_expires_at < app.now() + make_interval(secs => $1::int)`,
);

/** @param which condition on the live rows `l` */
function expired(which: string): string {
  return `with expired as materialized (
     select l.* from app.live_jobs l where ${which} and ${IS_OVER} and ${KEY_IS_FREE}
     limit $1 for update of l skip locked
   )
   select r.job_id, r.lease_no, r.tenant_id, r.lane_no, r.claimed_by_worker,
     r.attempts_spent, r.reclaims, r.cancel_requested_at is not null as cancel_requested,
     v.definition_id is not null as recorded, j.max_attempts,
     j.retry_delay_seconds as job_retry_delay_seconds, j.retry_multiplier as job_retry_multiplier, v.retry_delay_seconds,
     v.retry_multiplier, v.retry_strategy, v.retry_max_delay_seconds, v.retry_jitter, v.retry_classes, v.dead_letter,
     q.retry_delay_seconds as queue_retry_delay_seconds, q.retry_multiplier as queue_retry_multiplier
   from expired r
   left join lateral (select definition_id, definition_version, max_attempts, retry_delay_seconds, retry_multiplier
     from app.jobs where id = r.job_id offset 0) j on true
   left join app.job_definition_versions v on v.definition_id = j.definition_id and v.version = j.definition_version
   left join app.lanes l on l.lane_no = r.lane_no
   left join app.job_queues q on q.id = l.queue_id`;
}

/**
 * Locks the given leases that are still expired, so a holder that renewed in between keeps its job. A late renewal
 * counts as long as the job was not rescued.
 * `started` is true if the attempt has begun; run `takeFromWorkersSql` for the workers first, or it may be wrong.
 */
export const lockExpiredSql = statement(
  "lock_expired",
  `select r.job_id, ${HAS_BEGUN} as started from unnest($1::uuid[], $2::bigint[]) x (job_id, lease_no)
   cross join lateral (${leasedRows("job_id, attempt_started_at, claimed_by_worker, claim_no")} and ${IS_OVER}
     for update skip locked) r`,
);

/** Postpones leases that could not be rescued by `$3` seconds. */
export const postponeLeasesSql = statement(
  "postpone_leases",
  `update app.live_jobs r set lease_expires_at = app.now() + make_interval(secs => $3::int)
   from unnest($1::uuid[], $2::bigint[]) x (job_id, lease_no)
   where r.job_id = x.job_id and r.lease_no = x.lease_no and r.state = 'running'`,
);

/** Sets how long a statement of this transaction waits for a lock. */
export const lockTimeoutSql = statement("lock_timeout", "select set_config('lock_timeout', $1, true)");
