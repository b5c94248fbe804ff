import { statement } from "@/lib/db";

/**
 * Lets a transaction wait half a second for a lock: nobody who holds a row for long may hold up the leader's transactions, and
 * with them other tenants and who leads next.
 */
export const boundWaitsSql = statement("bound_waits", "select set_config('lock_timeout', '500ms', true)");

const DUE_COLUMNS = `due.id, due.tenant_id, due.label, due.version, due.queue, due.priority, due.payload_template, due.schedule_type,
     due.cron_expr, due.interval_ms, due.anchor_at, due.once_at, due.timezone, due.overlap_policy, due.catch_up,
     due.catch_up_limit, due.dst_gap, due.dst_overlap, due.jitter_seconds, due.max_runs, due.expires_at, due.run_count,
     due.next_run_at, due.following_run_at, due.updated_at, due.status, due.status_reason, d.key as definition_key, d.is_active as definition_is_active,
     n.status = 'active' as tenant_is_active, app.now() as now,
     due.queue is null or exists (select 1 from app.job_queues q where q.name = due.queue and q.is_active) as queue_is_active`;
const DUE_SURROUNDINGS = `left join app.job_definitions d on d.id = due.definition_id
   left join app.tenants n on n.id = due.tenant_id`;
const IS_DUE = "t.next_run_at <= app.now() and t.is_enabled and t.deleted_at is null and t.status <> 'finished'";

/**
 * Locks schedules that are due, the longest due first and those of one instant by tenants, and answers each as it stands
 * now: whoever edited, disabled or deleted one before has had the last word. Those that somebody else holds are left for
 * the next turn, and so are those behind the one with which the templates take `$2` bytes. `now` is the clock of every
 * decision about them.
 */
export const lockDueTriggersSql = statement(
  "lock_due_triggers",
  `with due as materialized (
     select t.* from app.job_triggers t
     where ${IS_DUE}
     order by t.next_run_at, t.tenant_id limit $1 for update skip locked
   ), sized as (
     select l.*, octet_length(l.payload_template::text) as bytes from due l
   ), summed as (
     select s.*, sum(s.bytes) over (order by s.next_run_at, s.tenant_id, s.id) - s.bytes as bytes_before from sized s
   )
   select ${DUE_COLUMNS}
   from (select * from summed where bytes_before < $2) due
   ${DUE_SURROUNDINGS}
   order by due.next_run_at, due.tenant_id, due.id`,
);

/** One schedule, if it is due. The caller holds its row. */
export const dueTriggerSql = statement(
  "due_trigger",
  `with due as materialized (select t.* from app.job_triggers t where t.tenant_id = $1 and t.id = $2 and ${IS_DUE})
   select ${DUE_COLUMNS} from due ${DUE_SURROUNDINGS}`,
);

/** Which of the newest jobs of each trigger are not over, whoever asked for them. */
export const liveJobsOfTriggersSql = statement(
  "live_jobs_of_triggers",
  `select x.trigger_id, l.job_id, l.state
   from unnest($1::uuid[], $2::uuid[]) x (tenant_id, trigger_id)
   cross join lateral (
     select f.job_id from app.trigger_firings f
     where f.tenant_id = x.tenant_id and f.trigger_id = x.trigger_id and f.job_id is not null
     order by f.id desc limit $3) f
   cross join lateral (select y.job_id, y.state from app.live_jobs y where y.job_id = f.job_id offset 0) l`,
);

/** Which of the given instants have a firing already. */
export const knownInstantsSql = statement(
  "known_instants",
  `select f.trigger_id, f.fire_at from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) x (tenant_id, trigger_id, at)
   cross join lateral (select y.trigger_id, y.fire_at from app.trigger_firings y
     where y.tenant_id = x.tenant_id and y.trigger_id = x.trigger_id and y.fire_at = x.at and y.kind = 'schedule' offset 0) f`,
);

/** Records what became of instants. An instant that has a firing already fails: it never fires twice. */
export const insertFiringsSql = statement(
  "insert_firings",
  `insert into app.trigger_firings (tenant_id, trigger_id, kind, fire_at, outcome, reason, detail, n, until, job_id,
     is_catch_up, note)
   select x.tenant_id, x.trigger_id, 'schedule', x.fire_at, x.outcome, x.reason, x.detail, x.n, x.until, x.job_id,
     x.is_catch_up, x.note
   from jsonb_to_recordset($1::jsonb) as x (tenant_id uuid, trigger_id uuid, fire_at timestamptz, outcome text, reason text,
     detail text, n integer, until timestamptz, job_id uuid, is_catch_up boolean, note text)`,
);

/** Says when schedules are due next, how often they ran and how they are. The caller holds their rows. */
export const advanceTriggersSql = statement(
  "advance_triggers",
  `update app.job_triggers t set run_count = t.run_count + x.runs, next_run_at = x.next_run_at,
     following_run_at = x.following_run_at, last_run_at = coalesce(x.last_run_at, t.last_run_at), status = x.status,
     status_reason = x.status_reason
   from jsonb_to_recordset($1::jsonb) as x (tenant_id uuid, trigger_id uuid, runs integer, next_run_at timestamptz,
     following_run_at timestamptz, last_run_at timestamptz, status text, status_reason text)
   where t.tenant_id = x.tenant_id and t.id = x.trigger_id`,
);

/** Enqueues the batches of several tenants, each as `app.enqueue_jobs` does, all or nothing. */
export const enqueueForTenantsSql = statement(
  "enqueue_for_tenants",
  `select x.n::int as batch, e.places::text, e.job_ids::text, e.deduplicated, e.ready, e.lane_no
   from unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) with ordinality x (tenant_id, kinds, items, parents, n)
   cross join lateral app.enqueue_jobs(x.tenant_id, x.kinds::jsonb, x.items::jsonb, x.parents::uuid[]) e`,
);

/** Milliseconds until the next schedule is due (negative: it is late); NULL when there is none. */
export const nextDueSql = statement(
  "next_due",
  `select ceil(extract(epoch from min(next_run_at) - app.now()) * 1000)::float8 as in_ms
   from app.job_triggers where next_run_at is not null`,
  { repeatable: true },
);
