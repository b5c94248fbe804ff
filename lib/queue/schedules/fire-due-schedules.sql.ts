import { statement } from "@/lib/db";

/**
 * Bounds each lock wait of the transaction to half a second. A row that is locked for long would otherwise block the
 * leader's transactions, and with them other tenants and the next election.
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
 * The same condition for the tenant `x.tenant_id`, in a form that only the index by tenant supports, because the
 * index by instant would read every due schedule of other tenants. A check constraint ensures that a row with
 * `next_run_at` is enabled.
 */
const IS_DUE_OF_TENANT = `t.next_run_at is not null and t.tenant_id between x.tenant_id and x.tenant_id
  and (t.tenant_id, t.next_run_at) <= (x.tenant_id, app.now())`;

/**
 * Finds at most `$2` tenants with a due schedule, in the order of their ids: from after `$1` on, then from the
 * first id up to `$1`.
 * Checks at most `$3` tenants with schedules, each by one index search. `through` is the last tenant that was checked;
 * NULL = all were. Checks no tenant if at most `$2` schedules are due, because one turn takes them all.
 */
export const dueTenantsSql = statement(
  "due_tenants",
  `with recursive looked (n, found, rounds, tenant_id, is_due) as (
     select 0, 0, 0, $1::uuid, false
     where (select count(*) from (
       select 1 from app.job_triggers t where ${IS_DUE} order by t.next_run_at, t.tenant_id limit $2::int + 1) c) > $2::int
     union all
     select l.n + 1, l.found + f.is_due::int, l.rounds + f.is_end::int, f.tenant_id, f.is_due
     from looked l
     cross join lateral (
       select coalesce(x.tenant_id, '00000000-0000-0000-0000-000000000000') as tenant_id, x.tenant_id is null as is_end,
         coalesce(x.next_run_at <= app.now(), false) as is_due
       from (select) one
       left join lateral (
         select t.tenant_id, t.next_run_at from app.job_triggers t
         where t.next_run_at is not null and t.tenant_id > l.tenant_id
           and t.tenant_id <= case when l.rounds = 0 then 'ffffffff-ffff-ffff-ffff-ffffffffffff' else $1 end
         order by t.tenant_id, t.next_run_at limit 1) x on true) f
     where l.n < $3::int and l.found < $2::int and l.rounds < 2
   )
   select array_agg(tenant_id order by n) filter (where is_due) as tenants,
     case when max(rounds) < 2 then (array_agg(tenant_id order by n desc))[1] end as through
   from looked`,
);

/**
 * Locks at most `$1` due schedules and returns each with every edit that was committed before: the `$4` oldest of
 * each tenant in `$3`, then the oldest of all tenants. Skips schedules that another transaction has locked; a
 * later turn takes them.
 * The rows are ordered by tenant, beginning after `$5`, each tenant's oldest first. Schedules beyond their tenant's
 * share of `$2` bytes of templates come last. The list ends once its templates take `$2` bytes. `now` is the clock for
 * every decision about them.
 */
export const lockDueTriggersSql = statement(
  "lock_due_triggers",
  `with in_turn as materialized (
     select t.* from unnest($3::uuid[]) x (tenant_id)
     cross join lateral (
       select t.* from app.job_triggers t
       where ${IS_DUE_OF_TENANT}
       order by t.tenant_id, t.next_run_at limit $4::int for update skip locked) t
   ), oldest as materialized (
     select t.* from app.job_triggers t
     where ${IS_DUE} and t.id <> all (array(select i.id from in_turn i))
     order by t.next_run_at, t.tenant_id limit $1::int - (select count(*) from in_turn) for update skip locked
   ), sized as materialized (
     select l.*, octet_length(l.payload_template::text) as bytes
     from (select * from in_turn union all select * from oldest) l
   ), own as (
     select s.*, sum(s.bytes) over (partition by s.tenant_id order by s.next_run_at, s.id) - s.bytes as own_bytes_before
     from sized s
   ), shared as (
     select o.*, row_number() over (
       order by o.own_bytes_before * (select count(distinct s.tenant_id) from sized s) >= $2, o.tenant_id <= $5, o.tenant_id,
         o.next_run_at, o.id) as turn
     from own o
   ), summed as (
     select s.*, sum(s.bytes) over (order by s.turn) - s.bytes as bytes_before from shared s
   )
   select ${DUE_COLUMNS}
   from (select * from summed where bytes_before < $2) due
   ${DUE_SURROUNDINGS}
   order by due.turn`,
);

/** Returns one schedule if it is due. The caller holds the lock on its row. */
export const dueTriggerSql = statement(
  "due_trigger",
  `with due as materialized (select t.* from app.job_triggers t where t.tenant_id = $1 and t.id = $2 and ${IS_DUE})
   select ${DUE_COLUMNS} from due ${DUE_SURROUNDINGS}`,
);

/** Live jobs among the newest `$3` jobs of each trigger, whatever started them. */
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

/** The given instants that already have a firing. */
export const knownInstantsSql = statement(
  "known_instants",
  `select f.trigger_id, f.fire_at from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) x (tenant_id, trigger_id, at)
   cross join lateral (select y.trigger_id, y.fire_at from app.trigger_firings y
     where y.tenant_id = x.tenant_id and y.trigger_id = x.trigger_id and y.fire_at = x.at and y.kind = 'schedule' offset 0) f`,
);

/** Stores the firings of instants. Fails for an instant that already has one, so no instant fires twice. */
export const insertScheduleFiringsSql = statement(
  "insert_firings",
  `insert into app.trigger_firings (tenant_id, trigger_id, kind, fire_at, outcome, reason, detail, n, until, job_id,
     is_catch_up, note)
   select x.tenant_id, x.trigger_id, 'schedule', x.fire_at, x.outcome, x.reason, x.detail, x.n, x.until, x.job_id,
     x.is_catch_up, x.note
   from jsonb_to_recordset($1::jsonb) as x (tenant_id uuid, trigger_id uuid, fire_at timestamptz, outcome text, reason text,
     detail text, n integer, until timestamptz, job_id uuid, is_catch_up boolean, note text)`,
);

/** Stores when schedules are due next, their run counts and their status. The caller holds the locks on their rows. */
export const advanceTriggersSql = statement(
  "advance_triggers",
  `update app.job_triggers t set run_count = t.run_count + x.runs, next_run_at = x.next_run_at,
     following_run_at = x.following_run_at, last_run_at = coalesce(x.last_run_at, t.last_run_at), status = x.status,
     status_reason = x.status_reason
   from jsonb_to_recordset($1::jsonb) as x (tenant_id uuid, trigger_id uuid, runs integer, next_run_at timestamptz,
     following_run_at timestamptz, last_run_at timestamptz, status text, status_reason text)
   where t.tenant_id = x.tenant_id and t.id = x.trigger_id`,
);

/** Enqueues one batch per tenant with `app.enqueue_jobs`, all or nothing. */
export const enqueueForTenantsSql = statement(
  "enqueue_for_tenants",
  `select x.n::int as batch, e.places::text, e.job_ids::text, e.deduplicated, e.ready, e.lane_no
   from unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) with ordinality x (tenant_id, kinds, items, parents, n)
   cross join lateral app.enqueue_jobs(x.tenant_id, x.kinds::jsonb, x.items::jsonb, x.parents::uuid[]) e`,
);

/** Milliseconds until the next schedule is due (negative if one is late); NULL if there is none. */
export const nextDueSql = statement(
  "next_due",
  `select ceil(extract(epoch from min(next_run_at) - app.now()) * 1000)::float8 as in_ms
   from app.job_triggers where next_run_at is not null`,
  { repeatable: true },
);
