import { statement } from "@/lib/db";
import { claimedColumns } from "../claim/claimed-columns.sql";

/**
 * Lanes `l` of the remote definitions `$1` (keys), in the queues `$2` (names; NULL = any), of the tenant
 * `$3` (NULL = any).
 */
const IN_SCOPE = `d.key = any ($1::text[]) and d.executor = 'remote' and d.is_active and q.is_active
     and ($2::text[] is null or q.name = any ($2::text[])) and ($3::uuid is null or l.tenant_id = $3::uuid)`;

/**
 * Lanes of a scope with ready jobs, with their definition's lease length and the lowest sort key of their ready jobs.
 * If there are more than `$4`, a random selection is returned, so that no lane is left out for long.
 * Reads the dead index entries of all jobs that were claimed from these lanes since the oldest snapshot.
 */
export const remoteLanesSql = statement(
  "remote_lanes",
  `select l.lane_no, d.lease_seconds, r.sort_key as head, r.sort_key as seen
   from app.job_definitions d join app.lanes l on l.definition_id = d.id join app.job_queues q on q.id = l.queue_id
   cross join lateral (select x.sort_key from app.live_jobs x where x.lane_no = l.lane_no and x.ready
     order by x.sort_key limit 1) r
   where ${IN_SCOPE}
   order by random() limit $4`,
  { repeatable: true },
);

/**
 * Like `remoteLanesSql`, but finds only lanes of jobs enqueued within the last `$7` seconds, by their ids. Also finds
 * those of the lanes `$5` that have ready jobs from the sort keys `$6` on (`seen`).
 */
export const remoteLanesPartlySql = statement(
  "remote_lanes_partly",
  `with fresh as materialized (
     select lane_no, min(sort_key) as head from (
       select lane_no, sort_key, ready from app.live_jobs
       where job_id >= app.id_floor(now() - make_interval(secs => $7::int)) offset 0) f
     where ready group by lane_no
   ), seen as materialized (
     select k.lane_no, r.sort_key as head from unnest($5::int[], $6::float8[]) k (lane_no, low)
     cross join lateral (select x.sort_key from app.live_jobs x
       where x.lane_no = k.lane_no and x.ready and x.sort_key >= k.low order by x.sort_key limit 1) r
   )
   select l.lane_no, d.lease_seconds, least(s.head, f.head) as head, s.head as seen
   from fresh f full join seen s using (lane_no) join app.lanes l using (lane_no)
   join app.job_definitions d on d.id = l.definition_id join app.job_queues q on q.id = l.queue_id
   where ${IN_SCOPE}
   order by random() limit $4`,
  { repeatable: true },
);

/** Tenant, definition and queue of the lanes `$1`, as far as they are of remote definitions. */
export const remoteLaneFactsSql = statement(
  "remote_lane_facts",
  `select l.lane_no, l.tenant_id, d.key as definition_key, q.name as queue
   from app.lanes l join app.job_definitions d on d.id = l.definition_id join app.job_queues q on q.id = l.queue_id
   where l.lane_no = any ($1::int[]) and d.executor = 'remote'`,
  { repeatable: true },
);

/**
 * The running attempt (`$1`, `$2`) if its worker's id begins with `$3`. No row = it ended, was rescued, or belongs to
 * another holder. Payloads are left out.
 */
export const leasedRemoteAttemptSql = statement(
  "leased_remote_attempt",
  `select ${claimedColumns("r", "j")}, r.attempt_started_at is not null as started, null as payload,
     r.claimed_by_worker as worker_id, r.cancel_requested_at is not null as cancel_requested,
     extract(epoch from app.now() - coalesce(r.attempt_started_at, r.claimed_at))::float8 as running_seconds,
     extract(epoch from r.lease_expires_at - r.claimed_at)::float8 as lease_seconds
   from app.live_jobs r join app.jobs j on j.id = r.job_id
   where r.job_id = $1 and r.lease_no = $2 and r.state = 'running' and left(r.claimed_by_worker, length($3)) = $3`,
  { repeatable: true },
);

/** How the attempt (`$1`, `$2`) ended, if its worker's id begins with `$3`. */
export const endedRemoteAttemptSql = statement(
  "ended_remote_attempt",
  `select status, outcome, retry_at from app.job_attempts
   where job_id = $1 and attempt_no = $2 and left(worker_id, length($3)) = $3`,
  { repeatable: true },
);

/**
 * How often workers released the run `$2` of the job `$1` themselves. The error text separates these releases from
 * claims whose response was lost.
 */
export const releasesSql = statement(
  "releases",
  `select count(*)::int as n from app.job_attempts
   where job_id = $1 and run_no = $2 and status = 'released' and error_text is not null`,
  { repeatable: true },
);

/** Bytes and lines of an attempt's stored output. */
export const attemptLogBytesSql = statement(
  "attempt_log_bytes",
  `select coalesce(sum(octet_length(body)), 0)::float8 as bytes, count(*)::int as lines from app.job_logs
   where job_id = $1 and attempt_no = $2`,
  { repeatable: true },
);

/**
 * Registers a remote worker and records its heartbeat. No row = `$11` workers whose ids begin with `$10` are
 * registered, and this is not one of them.
 * `$9` is the number of attempts it has leased (NULL = unchanged). `$12` is the tenant that it is confined
 * to (NULL = none).
 */
export const recordRemoteWorkerSql = statement(
  "record_remote_worker",
  `insert into app.job_workers (worker_id, hostname, pid, version, label, queues, definitions, capacity, running_count,
     isolation, metadata)
   select $1, $2, $3, $4, $5, $6, $7, $8, coalesce($9::int, 0), 'remote', jsonb_strip_nulls(jsonb_build_object('tenant_id', $12::text))
   where exists (select 1 from app.job_workers where worker_id = $1)
     or (select count(*) from app.job_workers where left(worker_id, length($10)) = $10) < $11
   on conflict (worker_id) do update set queues = excluded.queues, definitions = excluded.definitions,
     capacity = excluded.capacity, running_count = coalesce($9::int, job_workers.running_count), last_seen_at = app.now(),
     draining_since = null, stopped_at = null
   returning 1 as known`,
);

/**
 * The number of attempts that a worker has leased. Reads the dead index entries of all jobs that ran since the
 * oldest snapshot.
 */
export const leasedCountSql = statement(
  "leased_count",
  "select count(*)::int as n from app.live_jobs where state = 'running' and claimed_by_worker = $1",
  { repeatable: true },
);

/** A worker heartbeat that comes with a job's heartbeat; written at most every few seconds. */
export const seeRemoteWorkerSql = statement(
  "see_remote_worker",
  `update app.job_workers set last_seen_at = app.now()
   where worker_id = $1 and last_seen_at < app.now() - interval '4 s'`,
);
