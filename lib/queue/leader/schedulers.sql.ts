import { statement } from "@/lib/db";

/** Records the heartbeat of scheduler `$1` and returns the time-zone data versions of all other live schedulers. */
export const beatSchedulerSql = statement(
  "beat_scheduler",
  `with beat as (
     insert into app.schedulers (scheduler_id, version, tz_version) values ($1, $2, $3)
     on conflict (scheduler_id) do update set last_seen_at = app.now()
   )
   select tz_version from app.schedulers where scheduler_id <> $1 and last_seen_at > app.now() - interval '10 seconds'`,
);

export const forgetSchedulerSql = statement("forget_scheduler", "delete from app.schedulers where scheduler_id = $1");

export const pruneSchedulersSql = statement(
  "prune_schedulers",
  "delete from app.schedulers where last_seen_at < app.now() - interval '1 day'",
);

/** The number of live processes per version of the time-zone data. Remote workers have no version and do not count. */
export const tzVersionsSql = statement(
  "tz_versions",
  `select tz_version, sum(workers)::int as workers, sum(schedulers)::int as schedulers from (
     select tz_version, 1 as workers, 0 as schedulers from app.job_workers
     where stopped_at is null and last_seen_at > app.now() - interval '60 seconds' and isolation <> 'remote'
     union all
     select tz_version, 0, 1 from app.schedulers where last_seen_at > app.now() - interval '10 seconds') processes
   group by tz_version`,
  { repeatable: true },
);
