import { ADVISORY_LOCKS, statement, tenantIs } from "@/lib/db";

/** The number of newest firings that a trigger's outcome bar shows. */
const RECENT = 20;
const MISSED_DAYS = 7;
/** The most rows of skipped instants that are counted per trigger. */
const MISSED_ROWS = 1000;

/** The columns that insert and update write; the values come as JSON by these names. */
const WRITTEN = [
  "label",
  "is_enabled",
  "definition_id",
  "queue",
  "priority",
  "dedupe_window_seconds",
  "dedupe_key_template",
  "event_name",
  "condition",
  "schedule_type",
  "cron_expr",
  "interval_ms",
  "anchor_at",
  "once_at",
  "timezone",
  "overlap_policy",
  "catch_up",
  "catch_up_limit",
  "dst_gap",
  "dst_overlap",
  "jitter_seconds",
  "max_runs",
  "expires_at",
  "next_run_at",
  "following_run_at",
  "status",
  "status_reason",
] as const;
const NAMES = WRITTEN.join(", ");
const VALUES = WRITTEN.map((name) => `x.${name}`).join(", ");

const VIEW = `t.id, t.tenant_id, t.label, t.trigger_type, t.is_enabled, t.status, t.status_reason, t.definition_id,
  d.key as definition_key, t.queue, t.priority, t.payload_template, t.dedupe_window_seconds, t.dedupe_key_template,
  t.event_name, t.condition, t.schedule_type, t.cron_expr, t.interval_ms, t.anchor_at, t.once_at, t.timezone,
  t.overlap_policy, t.catch_up, t.catch_up_limit, jsonb_build_object('gap', t.dst_gap, 'overlap', t.dst_overlap) as dst_policy, t.jitter_seconds, t.max_runs, t.expires_at,
  t.run_count, t.next_run_at, t.last_run_at, t.version, t.created_by, t.created_at, t.updated_at`;
const FROM = "app.job_triggers t join app.job_definitions d on d.id = t.definition_id";
const MINE = `${tenantIs("t.tenant_id")} and t.deleted_at is null`;

/** The tenant's time zone and status, and the clock for all decisions. */
export const triggerSurroundingsSql = statement(
  "trigger_surroundings",
  `select t.timezone, t.status, app.now() as now from app.tenants t where ${tenantIs("t.id")}`,
  { repeatable: true },
);

/** Serializes the callers of a tenant until the transaction ends, so their counts are exact. */
export const lockTriggersOfTenantSql = statement(
  "lock_triggers_of_tenant",
  `select pg_advisory_xact_lock(${ADVISORY_LOCKS.triggersOfTenant})`,
);

/** Run it after the lock, as a separate statement, so that it sees what earlier callers wrote. */
export const countTriggersOfTenantSql = statement(
  "count_triggers_of_tenant",
  `select count(*)::int as n, (count(*) filter (where t.event_name = $2::text))::int as of_name
   from app.job_triggers t where ${MINE}`,
);

/**
 * Bytes of all payload templates of a tenant, except that of trigger $2. Reads all of them, so use it for large
 * templates only.
 */
export const templateBytesOfTenantSql = statement(
  "template_bytes_of_tenant",
  `select coalesce(sum(octet_length(t.payload_template::text)), 0)::float8 as bytes
   from app.job_triggers t where ${MINE} and t.id is distinct from $2::uuid`,
);

/** Conditions of all triggers on the event $2, except that of trigger $3. Up to 2,000 characters each. */
export const conditionsOfNameSql = statement(
  "conditions_of_name",
  `select t.condition from app.job_triggers t
   where ${MINE} and t.event_name = $2 and t.id is distinct from $3::uuid and t.condition is not null`,
);

/** `$2` the settings by column, `$3` the template, `$4` the type, `$5` the creator. */
export const insertTriggerSql = statement(
  "insert_trigger",
  `insert into app.job_triggers (tenant_id, payload_template, trigger_type, created_by, ${NAMES})
   select $1::uuid, $3::jsonb, $4, $5::uuid, ${VALUES} from jsonb_populate_record(null::app.job_triggers, $2::jsonb) x
   returning id`,
);

/** Locks a trigger until the transaction ends. No row = it does not exist, or it was deleted. */
export const lockTriggerSql = statement(
  "lock_trigger",
  `select ${VIEW}, t.following_run_at from ${FROM} where ${MINE} and t.id = $2 for update of t`,
  { answers: true },
);

/** Writes the settings of a locked trigger and increments its version. */
export const updateTriggerSql = statement(
  "update_trigger",
  `update app.job_triggers t set (${NAMES}) =
     (select ${VALUES} from jsonb_populate_record(null::app.job_triggers, $3::jsonb) x),
     payload_template = $4::jsonb, version = t.version + 1, updated_at = app.now()
   where ${MINE} and t.id = $2`,
);

/** Marks a locked trigger as deleted. Its firings stay, and its jobs keep running. */
export const deleteTriggerSql = statement(
  "delete_trigger",
  `update app.job_triggers t set deleted_at = app.now(), next_run_at = null, following_run_at = null,
     version = t.version + 1, updated_at = app.now()
   where ${MINE} and t.id = $2`,
);

const MATCHES = `($2::text is null or t.trigger_type = $2) and ($3::text is null or t.status = $3)
  and ($4::boolean is null or t.is_enabled = $4) and ($5::text is null or d.key = $5)
  and ($6::text is null or t.event_name = $6) and ($7::text is null or strpos(lower(t.label), lower($7)) > 0)`;

/** Triggers, newest first, with ids below `$8`. */
export const listTriggersSql = statement(
  "list_triggers",
  `select ${VIEW} from ${FROM} where ${MINE} and ${MATCHES} and ($8::uuid is null or t.id < $8)
   order by t.id desc limit $9 offset $10`,
  { repeatable: true, answers: true },
);

/** Counts matching triggers up to a limit. */
export const countTriggersSql = statement(
  "count_triggers",
  `select count(*)::int as n from (select 1 from ${FROM} where ${MINE} and ${MATCHES} limit $8) x`,
  { repeatable: true },
);

export const getTriggerSql = statement("get_trigger", `select ${VIEW} from ${FROM} where ${MINE} and t.id = $2`, {
  repeatable: true,
  answers: true,
});

/** The newest firings of each trigger, newest first, by an index scan of a few rows per trigger. */
export const recentFiringsSql = statement(
  "recent_firings",
  `select f.* from unnest($2::uuid[]) x (trigger_id) cross join lateral (
     select f.trigger_id, f.id, f.fire_at, f.outcome, f.reason, f.job_id from app.trigger_firings f
     where ${tenantIs("f.tenant_id")} and f.trigger_id = x.trigger_id order by f.id desc limit ${RECENT}) f
   order by f.trigger_id, f.id desc`,
  { repeatable: true, answers: true },
);

/** The number of instants of each trigger that were skipped in the last 7 days. A trigger with none has no row. */
export const missedInstantsSql = statement(
  "missed_instants",
  `select x.trigger_id, f.n from unnest($2::uuid[]) x (trigger_id) cross join lateral (
     select sum(s.n)::int as n from (
       select f.n from app.trigger_firings f
       where ${tenantIs("f.tenant_id")} and f.trigger_id = x.trigger_id and f.outcome = 'skipped' and f.kind = 'schedule'
         and f.id >= app.id_floor(app.now() - interval '${MISSED_DAYS} days') order by f.id desc limit ${MISSED_ROWS}) s) f
   where f.n > 0`,
  { repeatable: true },
);

/** Firings of a trigger, newest first, with ids below `$3`. */
export const listFiringsSql = statement(
  "list_firings",
  `select f.id, f.trigger_id, f.kind, f.fire_at, f.event_id, f.outcome, f.reason, f.detail, f.n, f.until, f.job_id,
     f.is_catch_up, f.note, f.created_at
   from app.trigger_firings f
   where ${tenantIs("f.tenant_id")} and f.trigger_id = $2 and ($3::uuid is null or f.id < $3)
     and ($4::text is null or f.outcome = $4) and ($5::text is null or f.kind = $5)
   order by f.id desc limit $6`,
  { repeatable: true, answers: true },
);

/** Stores the firing of a manual run. */
export const insertManualFiringSql = statement(
  "insert_manual_firing",
  `insert into app.trigger_firings (tenant_id, trigger_id, kind, fire_at, outcome, job_id)
   values ($1, $2, 'manual', app.now(), 'enqueued', $3)
   returning id, trigger_id, kind, fire_at, event_id, outcome, reason, detail, n, until, job_id, is_catch_up, note, created_at`,
  { answers: true },
);

/** Audits an action on a trigger, with its job, if any. */
export const auditTriggerSql = statement(
  "audit_trigger",
  `insert into app.job_audit (tenant_id, trigger_id, job_id, actor_kind, actor_id, action, request_id, reason)
   values ($1, $2, $3, $4, $5, $6, $7, $8)`,
);
