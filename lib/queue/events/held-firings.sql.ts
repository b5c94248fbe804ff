import { statement, tenantIs } from "@/lib/db";

/** Reason of a held firing: a job that descends from its trigger ran while the change was made. */
export const LOOP_SUSPECTED = "loop_suspected";

/**
 * Bounds the statements up to `unboundStatementsSql` to two seconds and returns the timeout before. Jobs may share
 * correlation ids in any number, so `loopDepthsSql` could read millions of rows while other tenants' folders wait.
 */
export const boundStatementsSql = statement(
  "bound_loop_statements",
  "select current_setting('statement_timeout') as before, set_config('statement_timeout', '2s', true)",
);

export const unboundStatementsSql = statement(
  "unbound_loop_statements",
  "select set_config('statement_timeout', $1, true)",
);

/**
 * For each trigger that listens to `$2`: the chain depth of the deepest job that descends from it and ran in the last
 * `$3` milliseconds. A trigger without a row had no such job.
 * Considers the jobs of its newest 200 firings, and later jobs with their correlation ids.
 */
export const loopDepthsSql = statement(
  "loop_depths",
  `select t.id as trigger_id, max(j.chain_depth)::int as depth
   from app.job_triggers t
   cross join lateral (
     select f.job_id from app.trigger_firings f
     where ${tenantIs("f.tenant_id")} and f.trigger_id = t.id and f.job_id is not null and f.outcome = 'enqueued'
     order by f.id desc limit 200) f
   join app.jobs o on o.id = f.job_id and ${tenantIs("o.tenant_id")}
   cross join lateral (
     select o.id, o.chain_depth
     union all
     (select c.id, c.chain_depth from app.jobs c
      where ${tenantIs("c.tenant_id")} and c.correlation_id = o.correlation_id and c.id > o.id
        and (c.parent_job_id is not null or c.chain_depth > o.chain_depth)
      order by c.id desc limit 100)) j
   where ${tenantIs("t.tenant_id")} and t.trigger_type = 'event' and t.event_name = $2 and t.is_enabled
     and t.status = 'active' and t.deleted_at is null
     and (exists (select from app.live_jobs l where l.job_id = j.id and ${tenantIs("l.tenant_id")} and l.state = 'running')
       or exists (select from app.job_attempts a where a.job_id = j.id and ${tenantIs("a.tenant_id")}
         and a.worker_id is not null and a.finished_at > app.now() - $3::float8 * interval '1 ms'))
   group by t.id`,
);

/**
 * Locks up to `$5` held firings for changes of `$3` (a provider's id), oldest first, except those of the triggers `$4`.
 * Only triggers that listen to `$2` at the moment count.
 */
export const takeHeldSql = statement(
  "take_held_firings",
  `select f.id, f.trigger_id, e.id as event_id, e.name, e.data, e.received_at, e.producer_id, e.source,
     coalesce(e.correlation_id, e.id::text) as correlation_id
   from app.job_triggers t
   join app.trigger_firings f on f.trigger_id = t.id and ${tenantIs("f.tenant_id")} and f.reason = '${LOOP_SUSPECTED}'
   join app.events e on e.id = f.event_id and ${tenantIs("e.tenant_id")} and e.data ->> 'provider_id' = $3
   where ${tenantIs("t.tenant_id")} and t.event_name = $2 and t.is_enabled and t.status = 'active' and t.deleted_at is null
     and not t.id = any ($4::uuid[])
   order by f.id limit $5 for update of f skip locked`,
);

/** Stores the final outcome of held firings. */
export const endHeldSql = statement(
  "end_held_firings",
  `update app.trigger_firings f set outcome = x.outcome, reason = x.reason, detail = x.detail, job_id = x.job_id,
     note = 'It was held, because its own job may have made the change.'
   from jsonb_to_recordset($2::jsonb) as x (id uuid, outcome text, reason text, detail text, job_id uuid)
   where ${tenantIs("f.tenant_id")} and f.id = x.id`,
);

/**
 * Ends the newest held firing of the trigger `$2`, because it is run by hand, and returns its event's data. No
 * other run follows.
 */
export const runHeldSql = statement(
  "run_held_firing",
  `update app.trigger_firings f set reason = 'loop', note = 'It was held, and then run by hand.'
   from (select h.id, e.data from app.trigger_firings h join app.events e on e.id = h.event_id and ${tenantIs("e.tenant_id")}
     where ${tenantIs("h.tenant_id")} and h.trigger_id = $2 and h.reason = '${LOOP_SUSPECTED}' order by h.id desc limit 1
     for update of h) n
   where f.id = n.id and ${tenantIs("f.tenant_id")} returning n.data`,
);
