import { statement } from "@/lib/db";

/**
 * Folds deltas into minutes and running totals, in one statement, so a reader that adds deltas and folded figures
 * always counts each job once. Takes a bounded batch, so it never locks many rows. Skips deltas that another
 * transaction has locked.
 */
export const foldStatDeltasSql = statement(
  "fold_stat_deltas",
  `with taken as (
     delete from app.job_stat_deltas where ctid = any (array(
       select ctid from app.job_stat_deltas limit $1 for update skip locked))
     returning tenant_id, definition_id, at, kind, n, wait_ms, run_ms
   ), minutes as (
     insert into app.job_stats as s (tenant_id, bucket, definition_id, kind, n, wait_ms, run_ms)
     select tenant_id, date_trunc('minute', at), definition_id, kind, sum(n), sum(wait_ms), sum(run_ms)
     from taken group by 1, 2, 3, 4 order by 1, 2, 3, 4
     on conflict (tenant_id, bucket, definition_id, kind) do update set n = s.n + excluded.n,
       wait_ms = s.wait_ms + excluded.wait_ms, run_ms = s.run_ms + excluded.run_ms
   ), totals as (
     insert into app.live_totals as t (tenant_id, definition_id, n)
     select tenant_id, definition_id,
       sum(case when kind in ('queued', 'retried') then n when kind = 'attempt_failed' then 0 else -n end)
     from taken group by 1, 2 order by 1, 2
     on conflict (tenant_id, definition_id) do update set n = t.n + excluded.n
   )
   select count(*)::int as n from taken`,
);

export const makeDaysSql = statement("make_days", "select made, moved::float8 as moved, failed from app.make_days()");

export const partitionProblemsSql = statement(
  "partition_problems",
  "select missing_days, stray_rows::float8 as stray_rows from app.partition_problems()",
  { repeatable: true },
);

export const deleteOldAnswersSql = statement(
  "delete_old_answers",
  `delete from app.idempotency_keys where id = any (array(
     select id from app.idempotency_keys where expires_at < app.now() limit $1 for update skip locked)) returning 1`,
);

/** Deletes by end time, because the scheduler may read no other column of sessions: their key is a hash of a secret. */
export const deleteOldSessionsSql = statement(
  "delete_old_sessions",
  `delete from app.sessions where absolute_expires_at = any (array(
     select absolute_expires_at from app.sessions where absolute_expires_at < app.now() - interval '30 days'
     limit $1 for update skip locked)) returning 1`,
);

export const deleteOldDeliveriesSql = statement(
  "delete_old_deliveries",
  `delete from app.webhook_deliveries where id = any (array(
     select id from app.webhook_deliveries where created_at < app.now() - interval '30 days'
     limit $1 for update skip locked)) returning 1`,
);

/** Deletes by id. Ids sort by time, so the oldest rows are at one end of the primary key. */
export const deleteOldFiringsSql = statement(
  "delete_old_firings",
  `delete from app.trigger_firings where id = any (array(
     select id from app.trigger_firings where id < app.id_floor(app.now() - interval '90 days')
     order by id limit $1 for update skip locked)) returning 1`,
);

/**
 * Triggers that were deleted 90 days ago, which is as long as firings are kept. A trigger waits until its firings are
 * pruned, because otherwise its own deletion would delete all of them at once.
 */
export const deleteOldTriggersSql = statement(
  "delete_old_triggers",
  `delete from app.job_triggers where id = any (array(
     select t.id from app.job_triggers t where t.deleted_at < app.now() - interval '90 days' and not exists (
       select 1 from app.trigger_firings f where f.tenant_id = t.tenant_id and f.trigger_id = t.id)
     order by t.deleted_at limit $1 for update of t skip locked)) returning 1`,
);

/** Keys whose job has ended and whose window has passed. Skips keys that are locked. */
export const deleteOldKeysSql = statement(
  "delete_old_keys",
  `delete from app.dedupe_keys where ctid = any (array(
     select ctid from app.dedupe_keys where not live and held_until <= app.now()
     order by held_until limit $1 for update skip locked)) returning 1`,
);

export const pruneWorkersSql = statement(
  "prune_workers",
  `delete from app.job_workers where worker_id = any (array(
     select worker_id from app.job_workers where last_seen_at < app.now() - interval '1 day'
     limit $1 for update skip locked)) returning worker_id`,
);
