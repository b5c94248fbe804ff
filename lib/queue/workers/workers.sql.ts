import { statement } from "@/lib/db";

export const registerWorkerSql = statement(
  "register_worker",
  `insert into app.job_workers (worker_id, hostname, pid, version, label, queues, definitions, capacity, health_port, isolation, tz_version)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
   on conflict (worker_id) do update set queues = excluded.queues, definitions = excluded.definitions,
     capacity = excluded.capacity, health_port = excluded.health_port, last_seen_at = app.now(), stopped_at = null`,
);

/** No row = the worker was pruned and has to register again. */
export const beatWorkerSql = statement(
  "beat_worker",
  `update app.job_workers set last_seen_at = app.now(), running_count = $2, cpu_percent = $3, rss_bytes = $4,
     event_loop_lag_ms = $5, queues = $6, definitions = $7
   where worker_id = $1 returning 1 as known`,
);

export const drainWorkerSql = statement(
  "drain_worker",
  "update app.job_workers set draining_since = coalesce(draining_since, app.now()), last_seen_at = app.now() where worker_id = $1",
);

export const stopWorkerSql = statement(
  "stop_worker",
  "update app.job_workers set stopped_at = app.now(), running_count = 0, last_seen_at = app.now() where worker_id = $1",
);

/**
 * All workers. The status is computed from the heartbeat's age on reading, by the database's clock, so no stored status
 * can be out of date.
 */
export const listWorkersSql = statement(
  "list_workers",
  `select w.worker_id, w.hostname, w.pid, w.version, w.label, w.queues, w.definitions, w.capacity, w.running_count, w.started_at,
     w.last_seen_at, greatest(extract(epoch from app.now() - w.last_seen_at), 0)::float8 as age_seconds, w.health_port,
     w.isolation, w.tz_version, w.cpu_percent, w.rss_bytes::float8 as rss_bytes, w.event_loop_lag_ms,
     case when w.stopped_at is not null then 'stopped'
       when w.last_seen_at < app.now() - interval '60 s' then 'dead'
       when w.last_seen_at < app.now() - interval '30 s' then 'stale'
       when w.draining_since is not null then 'draining'
       when w.last_seen_at < app.now() - interval '15 s' then 'late'
       else 'live' end as status
   from app.job_workers w order by w.stopped_at is not null, w.hostname, w.started_at desc limit 1000`,
  { repeatable: true, answers: true },
);
