import { statement, tenantIs } from "@/lib/db";
import { TIMEOUT_SECONDS } from "../definitions/defaults.sql";
import { limitCounts } from "../limits/limit-scope.sql";
import { HOLDS_NOW } from "../pauses/pauses.sql";

/** The bytes of a stream that are kept after its attempt has ended. */
const TAIL_BYTES = 192 * 1024;

/** A succeeded attempt is at 100 percent, whatever it reported last. */
const progressOf = (status: string): string =>
  `case when ${status} = 'succeeded' and a.progress is not null then 100 else a.progress end`;

/** The tail of the running attempt of `l`, as far as its output has been stored. */
const liveTail = (stream: "stdout" | "stderr"): string => `case when $5::boolean then (
       select right(string_agg(t.body, '' order by t.seq), ${TAIL_BYTES}) from (
         select c.seq, c.body, sum(octet_length(c.body)) over (order by c.seq desc) - octet_length(c.body) as after from (
           select g.seq, g.body from app.job_logs g
           where ${tenantIs("g.tenant_id")} and g.job_id = l.job_id and g.attempt_no = l.lease_no and g.stream = '${stream}'
           order by g.seq desc limit 2000) c) t
       where t.after < ${TAIL_BYTES}) end`;

/**
 * The columns of a job in lists. `l` is its live row; `a` is its latest attempt, which has the outcome after the end.
 */
const ROW = `j.id, j.tenant_id, j.definition_id, d.key as definition_key, j.definition_version, q.name as queue,
  coalesce(l.state, a.outcome) as status, j.source, j.source_ref, coalesce(l.priority, j.priority) as priority, j.tags,
  j.dedupe_key, j.correlation_id, j.parent_job_id, j.retried_from_id, coalesce(l.scheduled_for, j.scheduled_for) as scheduled_for,
  j.queued_at, case when l.job_id is null then a.run_started_at else l.started_at end as started_at,
  case when l.job_id is null then a.finished_at end as finished_at,
  case when l.job_id is null then j.expires_at else l.expires_at end as expires_at,
  coalesce(case when l.job_id is null then a.attempt_count else l.attempts_spent end, 0) as attempt_count, j.max_attempts,
  coalesce(l.run_no, a.run_no, 1) as run_no, coalesce(j.timeout_seconds, v.timeout_seconds, ${TIMEOUT_SECONDS}) as timeout_seconds,
  l.lease_expires_at, case when l.job_id is null then a.worker_id else l.claimed_by_worker end as claimed_by_worker,
  l.cancel_requested_at, case when l.job_id is null then ${progressOf("a.outcome")} else l.progress end as progress,
  case when l.job_id is null then a.progress_message else l.progress_message end as progress_message,
  a.error_text as last_error, a.error_type, j.created_by, l.ready, l.scheduled_for > app.now() as is_future,
  a.status = 'snoozed' as is_put_off, l.lane_no,
  l.sort_key, n.queue_id, exists (
    select 1 from app.job_workers w where w.stopped_at is null and w.draining_since is null
      and w.last_seen_at > app.now() - interval '60 s' and d.key = any (w.definitions)
      and (cardinality(w.queues) = 0 or q.name = any (w.queues))
      and coalesce(w.metadata ->> 'tenant_id', j.tenant_id::text) = j.tenant_id::text) as has_worker, case when l.state = 'queued' then (
    select jsonb_build_object('scope', p.scope, 'reason', p.reason, 'until', p.paused_until) from app.pauses p
    where ${HOLDS_NOW} and (p.scope = 'all' or p.queue_id = n.queue_id
      or p.definition_id = j.definition_id or p.tenant_id = j.tenant_id)
    order by p.scope <> 'suspension', p.paused_until desc nulls first limit 1) end as pause`;

/**
 * The newest job that retried this one with another payload. A retry has a greater id, so older
 * partitions are left out.
 */
const newestRetry = (of: string): string => `(select r.id from app.jobs r
    where ${tenantIs("r.tenant_id")} and r.retried_from_id = ${of} and r.id > ${of} order by r.id desc limit 1)`;

const DETAIL = `j.payload, j.metadata, case when l.job_id is null then a.result end as result,
  ${newestRetry("j.id")} as retried_by_id`;

const JOINS = `
  join app.lanes n on n.lane_no = j.lane_no
  join app.job_queues q on q.id = n.queue_id
  join app.job_definitions d on d.id = j.definition_id
  join app.job_definition_versions v on v.definition_id = j.definition_id and v.version = j.definition_version
  left join app.live_jobs l on l.job_id = j.id and ${tenantIs("l.tenant_id")}
  left join lateral (
    select status, outcome, run_started_at, finished_at, attempt_count, run_no, worker_id, progress, progress_message,
      error_text, error_type, result
    from app.job_attempts where job_id = j.id and ${tenantIs("tenant_id")} order by attempt_no desc limit 1) a on true`;

export const getJobSql = statement(
  "get_job",
  `select ${ROW}, ${DETAIL} from app.jobs j ${JOINS} where ${tenantIs("j.tenant_id")} and j.id = $2`,
  { repeatable: true, answers: true },
);

export const jobsByIdSql = statement(
  "jobs_by_id",
  `select ${ROW} from app.jobs j ${JOINS} where ${tenantIs("j.tenant_id")} and j.id = any ($2::uuid[]) order by j.id desc`,
  { repeatable: true, answers: true },
);

/** The newest edited retry of each of the jobs $2 that has one. */
export const newestRetriesSql = statement(
  "newest_retries",
  `select x.job_id, x.retried_by_id from (
     select u.job_id, ${newestRetry("u.job_id")} as retried_by_id from unnest($2::uuid[]) u (job_id)) x
   where x.retried_by_id is not null`,
  { repeatable: true, answers: true },
);

/**
 * The position of each ready job $2 in its lane, counted up to 1,000, and the limit that limited its lane in the last
 * five seconds. $3 are the lanes, $4 the sort keys. Each lane is read once, whatever the number of its jobs.
 * A limit for each tenant may have limited another tenant, so it counts only if this tenant has
 * reached it at the moment.
 */
export const lanePositionsSql = statement(
  "lane_positions",
  `with asked as materialized (
     select x.job_id, x.lane_no, x.sort_key from unnest($2::uuid[], $3::int[], $4::float8[]) x (job_id, lane_no, sort_key)
   ), keys as materialized (
     -- Negated and ascending, because width_bucket counts the elements at or below its operand.
     select u.lane_no, coalesce(k.negated, '{}') as negated, cardinality(coalesce(k.negated, '{}')) as total
     from (select distinct lane_no from asked) u cross join lateral (
       select array_agg(-x.sort_key order by x.sort_key desc) as negated from (
         select sort_key from app.live_jobs
         where ${tenantIs("tenant_id")} and lane_no = u.lane_no and ready order by sort_key limit 1000) x) k
   ), limiting as materialized (
     select u.lane_no, (
       select jsonb_build_object('scope', c.scope, 'by', c.limited_by, 'maxRunning', c.max_running,
         'startsPerSecond', c.starts_per_second)
       from app.lanes n cross join lateral app.limits_on(n.queue_id, n.definition_id, n.tenant_id) c
       where ${tenantIs("n.tenant_id")} and n.lane_no = u.lane_no and c.limited_at > app.now() - interval '5 s'
         and (c.tenant_id is not null or c.scope not like 'tenant%' or case c.limited_by
           when 'running' then c.max_running <= (
             select count(*) from app.live_jobs r join app.lanes o on o.lane_no = r.lane_no
             where ${tenantIs("r.tenant_id")} and r.state = 'running' and ${limitCounts("c", "o")})
           else exists (
             select 1 from app.rate_buckets b where b.tenant_id = n.tenant_id and b.limit_id = c.id
               and b.tokens + c.starts_per_second * extract(epoch from app.now() - b.refilled_at) < 1) end)
       order by c.limited_at desc limit 1) as "limit"
     from keys u
   )
   select a.job_id, jsonb_build_object('ahead', k.total - width_bucket(-a.sort_key, k.negated), 'total', k.total,
     'limit', h."limit") as position
   from asked a join keys k on k.lane_no = a.lane_no join limiting h on h.lane_no = a.lane_no`,
  { repeatable: true, answers: true },
);

/**
 * Attempts below the number $4 (null = all), latest first: at most $3 of them and at most $6 bytes of texts, but at
 * least one. Tails are read only if $5. Sizes are known without reading the texts.
 */
export const listAttemptsSql = statement(
  "list_attempts",
  `select p.*, p.row_no < p.found as has_older from (
   select t.*, count(*) over () as found, row_number() over latest as row_no, sum(coalesce(octet_length(t.error_text), 0)
     + coalesce(octet_length(t.stdout_tail), 0) + coalesce(octet_length(t.stderr_tail), 0)) over latest as bytes
   from (
   select a.job_id, a.attempt_no, a.run_no, a.status, a.worker_id, a.claimed_at, a.started_at, a.finished_at, a.pid,
     a.exit_code, a.signal, a.error_type, a.error_text, case when $5::boolean then a.stdout_tail end as stdout_tail,
     case when $5::boolean then a.stderr_tail end as stderr_tail, a.stdout_bytes, a.stderr_bytes, a.dropped_bytes,
     a.cpu_ms, a.peak_rss_bytes, a.retry_at, ${progressOf("a.status")} as progress, a.progress_message
   from app.job_attempts a where ${tenantIs("a.tenant_id")} and a.job_id = $2 and a.worker_id is not null
     and ($4::bigint is null or a.attempt_no < $4)
   union all
   select l.job_id, l.lease_no, l.run_no, 'running', l.claimed_by_worker, l.claimed_at, l.attempt_started_at, null, l.pid,
     null, null, null, null, ${liveTail("stdout")}, ${liveTail("stderr")}, null, null, null, null, null, null, l.progress,
     l.progress_message
   from app.live_jobs l where ${tenantIs("l.tenant_id")} and l.job_id = $2 and l.state = 'running'
     and ($4::bigint is null or l.lease_no < $4)
   order by 2 desc limit $3::int + 1) t window latest as (order by t.attempt_no desc)) p
   where p.row_no <= $3 and (p.row_no = 1 or p.bytes <= $6) order by p.attempt_no desc`,
  { repeatable: true, answers: true },
);

/**
 * Output after a position, oldest first. `$3` attempt (null = all), `$4`/`$5` position, `$6` stream, `$7` most chunks,
 * `$8` most bytes; at least one chunk. `found` counts one chunk more than `$7` if there is one.
 */
export const readLogsSql = statement(
  "read_logs",
  `select attempt_no, seq, stream, level, at, body, context, found from (
     select g.*, count(*) over ()::int as found, row_number() over read as row_no,
       sum(octet_length(body) + coalesce(octet_length(context::text), 0)) over read as bytes
     from (
       select attempt_no, seq, stream, level, at, body, context from app.job_logs
       where ${tenantIs("tenant_id")} and job_id = $2 and ($3::bigint is null or attempt_no = $3)
         and (attempt_no, seq) > ($4::bigint, $5::int) and ($6::text is null or stream = $6)
       order by attempt_no, seq limit $7::int + 1) g
     window read as (order by attempt_no, seq)) p
   where row_no <= $7 and (row_no = 1 or bytes <= $8) order by attempt_no, seq`,
  { repeatable: true, answers: true },
);

/**
 * The earliest time since which a ready job waits, among the heads of the tenant's lanes and its 1,000 lowest ids. Jobs
 * of one priority are ordered by that time in their lane, and ids rise with the time of enqueue. So a longer wait can
 * only be missed behind 1,000 older jobs that are not ready, in a lane of several priorities.
 */
const OLDEST = `, front as (
     select min(h.scheduled_for) as first from app.lanes n cross join lateral (
       select l.scheduled_for from app.live_jobs l
       where ${tenantIs("l.tenant_id")} and l.lane_no = n.lane_no and l.ready order by l.sort_key limit 1) h
     where ${tenantIs("n.tenant_id")}
   ), oldest as (
     select min(x.scheduled_for) filter (where x.ready) as first from (
       select l.scheduled_for, l.ready from app.live_jobs l
       where ${tenantIs("l.tenant_id")} and l.state <> 'running' order by l.job_id limit 1000) x
   )`;

/** Live counts from running totals and the small partial indexes; ended jobs of the last 24 hours by minute. */
export const summarySql = statement(
  "summarize_jobs",
  `with ended as (
     select kind, sum(n)::float8 as n from (
       select kind, n from app.job_stats where ${tenantIs("tenant_id")} and bucket >= app.now() - interval '24 hours'
       union all
       select kind, n from app.job_stat_deltas where ${tenantIs("tenant_id")} and at >= app.now() - interval '24 hours') x
     where kind in ('succeeded', 'failed', 'dead_letter', 'canceled', 'expired') group by kind
   ), live as (
     select coalesce((select sum(n) from app.live_totals where ${tenantIs("tenant_id")}), 0)
       + coalesce((select sum(case when kind in ('queued', 'retried') then n when kind = 'attempt_failed' then 0 else -n end)
                   from app.job_stat_deltas where ${tenantIs("tenant_id")}), 0) as n
   ), running as (
     select count(*) as n from app.live_jobs where ${tenantIs("tenant_id")} and state = 'running'
   ), waiting as (
     select count(*) filter (where state = 'blocked') as blocked, count(*) filter (where state = 'paused') as paused
     from app.live_jobs where ${tenantIs("tenant_id")} and state in ('blocked', 'paused')
   )${OLDEST}
   select coalesce((select jsonb_object_agg(kind, n) from ended), '{}') as ended,
     greatest(live.n - running.n - waiting.blocked - waiting.paused, 0)::float8 as queued, running.n::float8 as running,
     waiting.blocked::float8 as blocked, waiting.paused::float8 as paused, app.now() as as_of,
     (select greatest(extract(epoch from app.now() - least(front.first, oldest.first)), 0)::float8
      from front, oldest where coalesce(front.first, oldest.first) is not null) as oldest_queued_age_seconds
   from live, running, waiting`,
  { repeatable: true, answers: true },
);
