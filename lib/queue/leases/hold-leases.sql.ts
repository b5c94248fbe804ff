import { statement } from "@/lib/db";
import { leasedRows } from "../attempts/leased-rows.sql";

/**
 * Renews the given leases.
 * Returns a row for each renewed lease and a row for each held lease. A lease with only the second row is locked by
 * another transaction at the moment, so the caller asks again. A lease without a row is lost.
 * SKIP LOCKED keeps one long transaction from starving the other leases. FOR NO KEY UPDATE does not conflict with an
 * upload of the same attempt.
 */
export const extendLeasesSql = statement(
  "extend_leases",
  `with asked as materialized (
     select * from unnest($1::uuid[], $2::bigint[], $3::int[]) x (job_id, lease_no, lease_seconds)
   ), leased as materialized (
     select r.tid, x.lease_seconds
     from asked x cross join lateral (${leasedRows("ctid as tid")} for no key update skip locked) r
   ), renewed as (
     update app.live_jobs r set lease_expires_at = app.now() + make_interval(secs => l.lease_seconds)
     from leased l where r.ctid = l.tid
     returning r.job_id, r.lease_expires_at, r.cancel_requested_at is not null as cancel_requested
   )
   select job_id, lease_expires_at, cancel_requested from renewed
   union all
   select r.job_id, null, false from asked x cross join lateral (${leasedRows("job_id")} offset 0) r`,
);

/** Locks the live row against rescue until the caller's transaction ends. No row = the lease is lost. */
export const holdLeaseSql = statement(
  "hold_lease",
  `select 1 as held from app.live_jobs where job_id = $1 and lease_no = $2 and state = 'running' for share`,
);

/** Stores the progress of an attempt. No row = the lease is lost. */
export const reportProgressSql = statement(
  "report_progress",
  `update app.live_jobs set progress = $3, progress_message = $4
   where job_id = $1 and lease_no = $2 and state = 'running' returning job_id`,
);

/** Stores the process id of an attempt. No row = the lease is lost. */
export const recordProcessSql = statement(
  "record_process",
  `update app.live_jobs set pid = $3 where job_id = $1 and lease_no = $2 and state = 'running' returning job_id`,
);

/**
 * Appends output of an attempt while its lease is held. No row = the lease is lost.
 * A chunk that is sent twice is stored once, so a chunk can be sent again when its response was lost.
 */
export const appendLogsSql = statement(
  "append_logs",
  `with holder as materialized (
     select job_id, lease_no, tenant_id from app.live_jobs
     where job_id = $1 and lease_no = $2 and state = 'running' for share
   ), written as (
     insert into app.job_logs (job_id, attempt_no, seq, tenant_id, stream, level, at, body, context)
     select h.job_id, h.lease_no, c.seq, h.tenant_id, c.stream, c.level, app.now(), c.body, c.context
     from holder h, jsonb_to_recordset($3::jsonb) as c (seq int, stream text, level text, body text, context jsonb)
     on conflict do nothing
   )
   select 1 as held from holder`,
);

/** Attempts of worker `$1` that have a cancel request. */
export const canceledAttemptsSql = statement(
  "canceled_attempts",
  `select job_id, lease_no::float8 as lease_no from app.live_jobs
   where claimed_by_worker = $1 and cancel_requested_at is not null`,
  { repeatable: true },
);
