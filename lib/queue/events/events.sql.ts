import { statement, tenantIs } from "@/lib/db";

/**
 * Stores events and returns for each, in order, whether it is new: a producer id that this producer has used is not.
 * Producer ids are inserted in sorted order, so that two callers cannot deadlock. A caller waits for an uncommitted
 * insert of the same producer id.
 */
export const insertEventsSql = statement(
  "insert_events",
  `with item as materialized (
     select app.new_id() as id, x.*
     from rows from (jsonb_to_recordset($2::jsonb) as (name text, producer_id text, data jsonb, source text,
       correlation_id text, depth smallint, caused_by_job_id uuid)) with ordinality
       x (name, producer_id, data, source, correlation_id, depth, caused_by_job_id, n)
   ), fresh as (
     insert into app.events (id, tenant_id, name, producer_id, data, source, correlation_id, depth, caused_by_job_id,
       actor_kind, actor_id, status)
     select id, $1, name, producer_id, data, source, coalesce(correlation_id, id::text), depth, caused_by_job_id, $3, $4,
       'pending'
     from item order by producer_id collate "C", n
     on conflict (tenant_id, producer_id, actor_kind, coalesce(actor_id, '00000000-0000-0000-0000-000000000000'))
       where producer_id is not null do nothing
     returning id, received_at, correlation_id
   )
   select i.n::int, i.id, i.producer_id, f.received_at, f.correlation_id, f.id is not null as is_new
   from item i left join fresh f on f.id = i.id order by i.n`,
);

/** Stores a pending event for the leading scheduler. Reads nothing, because the publishing role may not. */
export const announceEventSql = statement(
  "announce_event",
  `insert into app.events (id, tenant_id, name, data, source, correlation_id, actor_kind, actor_id, status)
   select n.id, $1, $2, $3, 'app', n.id::text, $4, $5, 'pending' from (select app.new_id() as id offset 0) n`,
);

const SUMMARY = `e.id, e.name, e.producer_id, e.received_at, e.status, e.considered_count, e.matched_count, e.started_count,
  e.reason`;

/** The events of this producer with the producer ids $2. */
export const eventsOfProducerSql = statement(
  "events_of_producer",
  `select ${SUMMARY}, array(
     select f.job_id from app.trigger_firings f where ${tenantIs("f.tenant_id")} and f.event_id = e.id and f.outcome = 'enqueued'
     order by f.id) as job_ids
   from app.events e where ${tenantIs("e.tenant_id")} and e.producer_id = any ($2::text[]) and e.actor_kind = $3
     and e.actor_id is not distinct from $4::uuid`,
  { answers: true },
);

const LISTENER = `t.id, t.version, t.label, t.event_name, t.queue, t.priority, t.overlap_policy, t.max_runs, t.run_count::int as run_count,
  coalesce(t.expires_at <= app.now(), false) as is_expired,
  t.is_enabled and t.status = 'active' as is_listening, d.key as definition_key
  from app.job_triggers t join app.job_definitions d on d.id = t.definition_id`;
const LISTENS = "t.trigger_type = 'event' and t.is_enabled and t.status = 'active' and t.deleted_at is null";

/** The triggers that listen to one of the names, in the order of their ids. */
export const listenersSql = statement(
  "listeners",
  `select ${LISTENER} where ${tenantIs("t.tenant_id")} and t.event_name = any ($2::text[]) and ${LISTENS} order by t.id`,
);

/** Like `listenersSql`, but locks the triggers. Used if any of them limits the jobs that it may start. */
export const lockListenersSql = statement(
  "lock_listeners",
  `select ${LISTENER} where ${tenantIs("t.tenant_id")} and t.event_name = any ($2::text[]) and ${LISTENS} order by t.id
   for no key update of t`,
);

/** Event triggers for a test: one, or all that listen. */
export const tryListenersSql = statement(
  "try_listeners",
  `select ${LISTENER} where ${tenantIs("t.tenant_id")} and t.trigger_type = 'event' and t.deleted_at is null
     and case when $2::uuid is null then t.is_enabled and t.status = 'active' else t.id = $2 end
   order by t.id limit $3`,
);

/** The texts of the triggers $2. Read separately, because they may be large and change only with the version. */
export const listenerTextsSql = statement(
  "listener_texts",
  `select t.id, t.version, t.label, t.condition, t.payload_template, t.dedupe_key_template, t.dedupe_window_seconds
   from app.job_triggers t where ${tenantIs("t.tenant_id")} and t.id = any ($2::uuid[])`,
);

/** Unfinished jobs of triggers, oldest first, among the newest 100 jobs of each trigger. */
export const unfinishedOfTriggersSql = statement(
  "unfinished_of_triggers",
  `select t.id as trigger_id, f.job_id from unnest($2::uuid[]) t (id)
   cross join lateral (
     select f.id, f.job_id from app.trigger_firings f
     where ${tenantIs("f.tenant_id")} and f.trigger_id = t.id and f.job_id is not null order by f.id desc limit 100) f
   where exists (select 1 from app.live_jobs l where l.job_id = f.job_id and ${tenantIs("l.tenant_id")})
   order by f.id`,
);

export const insertFiringsSql = statement(
  "insert_event_firings",
  `insert into app.trigger_firings (tenant_id, trigger_id, kind, fire_at, event_id, outcome, reason, detail, job_id)
   select $1, x.trigger_id, 'event', x.fire_at, x.event_id, x.outcome, x.reason, x.detail, x.job_id
   from jsonb_to_recordset($2::jsonb) as x (trigger_id uuid, fire_at timestamptz, event_id uuid, outcome text, reason text,
     detail text, job_id uuid)`,
);

/** Adds made jobs to run counts; reaching `max_runs` finishes a trigger. Rows are locked in the order of their ids. */
export const countRunsSql = statement(
  "count_event_runs",
  `with locked as materialized (
     select t.id, x.n from app.job_triggers t join unnest($2::uuid[], $3::int[]) x (id, n) on x.id = t.id
     where ${tenantIs("t.tenant_id")} order by t.id for no key update of t
   )
   update app.job_triggers t set run_count = t.run_count + l.n, last_run_at = app.now(),
     status = case when t.run_count + l.n >= t.max_runs then 'finished' else t.status end,
     status_reason = case when t.run_count + l.n >= t.max_runs then 'max_runs' else t.status_reason end
   from locked l where t.id = l.id and ${tenantIs("t.tenant_id")}`,
);

/** Stores the results of events and marks them done. The data of job events is filled in here, if it is given. */
export const finishEventsSql = statement(
  "finish_events",
  `update app.events e set status = 'done', considered_count = x.considered, matched_count = x.matched,
     started_count = x.started, reason = x.reason, misses = x.misses, data = coalesce(x.data, e.data),
     correlation_id = coalesce(e.correlation_id, x.correlation_id), depth = coalesce(x.depth, e.depth)
   from jsonb_to_recordset($2::jsonb) as x (id uuid, considered int, matched int, started int, reason text, misses jsonb,
     data jsonb, correlation_id text, depth smallint)
   where ${tenantIs("e.tenant_id")} and e.id = x.id`,
);

/** Adds a replay's result. Misses are those of the newest comparison. Once something started, the reason stays null. */
export const addReplaysSql = statement(
  "add_replays",
  `update app.events e set considered_count = x.considered, matched_count = e.matched_count + x.matched,
     started_count = e.started_count + x.started, misses = x.misses,
     reason = case when e.matched_count > 0 and e.reason is null then null else x.reason end
   from jsonb_to_recordset($2::jsonb) as x (id uuid, considered int, matched int, started int, reason text, misses jsonb)
   where ${tenantIs("e.tenant_id")} and e.id = x.id`,
);

/** Locks a stored event and returns it with its data. Concurrent replays of an event run one after the other. */
export const lockEventSql = statement(
  "lock_event",
  `select e.id, e.name, e.data, e.received_at, e.producer_id, coalesce(e.correlation_id, e.id::text) as correlation_id,
     e.source, e.depth, e.status, app.now() as now
   from app.events e where ${tenantIs("e.tenant_id")} and e.id = $2 for no key update`,
);

export const auditReplaySql = statement(
  "audit_replay",
  `insert into app.job_audit (tenant_id, event_id, actor_kind, actor_id, action, request_id, reason)
   values ($1, $2, $3, $4, 'event.replay', $5, $6)`,
);

/** The replays of an event with their actors, newest first. */
export const replaysOfEventSql = statement(
  "replays_of_event",
  `select x.at, x.actor_kind, coalesce(u.email, k.name) as actor,
     coalesce(x.reason, '') as detail
   from app.job_audit x
   left join app.users u on x.actor_kind = 'user' and u.id = x.actor_id
   left join app.api_keys k on x.actor_kind = 'api_key' and k.id = x.actor_id and ${tenantIs("k.tenant_id")}
   where ${tenantIs("x.tenant_id")} and x.event_id = $2 and x.action = 'event.replay' order by x.id desc limit 50`,
  { repeatable: true, answers: true },
);

/** Tenants with pending events, in the order of their ids after $1. The cost is independent of their events' number. */
export const pendingTenantsSql = statement(
  "pending_tenants",
  `with recursive tenant (id) as (
     (select e.tenant_id from app.events e where e.status = 'pending' and e.tenant_id > $1 order by e.tenant_id limit 1)
     union all
     select (select e.tenant_id from app.events e where e.status = 'pending' and e.tenant_id > t.id order by e.tenant_id limit 1)
     from tenant t where t.id is not null
   )
   select id as tenant_id from tenant where id is not null limit $2`,
  { repeatable: true },
);

/** Locks pending events until the end of the transaction, oldest first. */
export const takePendingSql = statement(
  "take_pending_events",
  `select e.id, e.name, e.data, e.received_at, e.producer_id, e.correlation_id, e.source, e.depth, e.caused_by_job_id, t.status as tenant_status
   from app.events e join app.tenants t on t.id = e.tenant_id
   where ${tenantIs("e.tenant_id")} and e.status = 'pending' and ($3::uuid is null or e.id = $3) order by e.id limit $2
   for update of e skip locked`,
);

/** Counts a failed comparison of an event. The last try marks the event done, with reason `failed`. */
export const recordFailureSql = statement(
  "note_event_failure",
  `update app.events e set tries = e.tries + 1, status = case when e.tries + 1 >= $3 then 'done' else e.status end,
     reason = case when e.tries + 1 >= $3 then 'failed' end
   where ${tenantIs("e.tenant_id")} and e.id = $2 and e.status = 'pending'`,
);

/** The data of job events: the job and how its run ended. Results over $5 bytes are left out. */
export const describeEndsSql = statement(
  "describe_ends",
  `select x.event_id, j.correlation_id, j.chain_depth,
     jsonb_build_object('job_id', j.id, 'run_no', x.run_no, 'definition_key', d.key, 'queue', q.name, 'status', a.outcome,
       'source', j.source, 'source_ref', j.source_ref, 'parent_job_id', j.parent_job_id, 'tags', to_jsonb(j.tags),
       'attempt_count', a.attempt_count, 'error_type', a.error_type, 'error_text', left(a.error_text, 500),
       'result', case when octet_length(a.result::text) <= $5 then a.result end,
       'result_omitted', coalesce(octet_length(a.result::text) > $5, false)) as data
   from unnest($2::uuid[], $3::uuid[], $4::int[]) x (event_id, job_id, run_no)
   join app.jobs j on j.id = x.job_id and ${tenantIs("j.tenant_id")}
   join app.lanes l on l.lane_no = j.lane_no and ${tenantIs("l.tenant_id")}
   join app.job_queues q on q.id = l.queue_id
   join app.job_definitions d on d.id = j.definition_id
   join lateral (
     select * from app.job_attempts a where a.job_id = x.job_id and ${tenantIs("a.tenant_id")} and a.run_no = x.run_no
       and a.outcome is not null order by a.attempt_no desc limit 1) a on true`,
);

/** The holders of dedupe keys. */
export const heldKeysSql = statement(
  "held_keys",
  `select k.key, k.job_id from app.dedupe_keys k where ${tenantIs("k.tenant_id")} and k.key = any ($2::text[])
     and (k.live or k.held_until > app.now())`,
);

export const deleteOldEventsSql = statement(
  "delete_old_events",
  `delete from app.events where id = any (array(
     select id from app.events where received_at < app.now() - interval '30 days' and status = 'done'
     limit $1 for update skip locked)) returning 1`,
);

const VIEW = `${SUMMARY}, e.source, coalesce(e.correlation_id, e.caused_by_job_id::text, e.id::text) as correlation_id,
  e.depth, e.caused_by_job_id`;

/** The filter that uses an index; the other filters are applied to its rows. */
export type EventDriver = "none" | "name" | "prefix" | "correlation" | "cause";

const BY: Readonly<Record<EventDriver, string>> = {
  none: "",
  name: `and e.name collate "C" = $2`,
  prefix: `and e.name collate "C" >= $2 and e.name collate "C" < $3`,
  correlation: "and e.correlation_id = $5",
  cause: "and e.caused_by_job_id = $6",
};

/**
 * $2 name, or the first of a range of names that ends before $3 · $4 since · $5 correlation · $6 cause · $7 ids
 * before · $8 limit.
 */
const listBy = (driver: EventDriver) =>
  statement(
    `list_events_${driver}`,
    `select ${VIEW} from app.events e where ${tenantIs("e.tenant_id")} ${BY[driver]}
     and ($2::text is null or e.name collate "C" >= $2) and ($3::text is null or e.name collate "C" < $3)
     and ($3::text is not null or $2::text is null or e.name = $2)
     and ($4::timestamptz is null or e.received_at >= $4)
     and ($5::text is null or e.correlation_id = $5) and ($6::uuid is null or e.caused_by_job_id = $6)
     and ($7::uuid is null or e.id < $7)
   order by e.id desc limit $8`,
    { repeatable: true, answers: true },
  );

export const listEventsSql: Readonly<Record<EventDriver, ReturnType<typeof listBy>>> = {
  none: listBy("none"),
  name: listBy("name"),
  prefix: listBy("prefix"),
  correlation: listBy("correlation"),
  cause: listBy("cause"),
};

export const getEventSql = statement(
  "get_event",
  `select ${VIEW}, e.data, (
     select jsonb_agg(m || jsonb_build_object('trigger_label', t.label))
     from jsonb_array_elements(e.misses) m
     left join app.job_triggers t on t.id = (m ->> 'trigger_id')::uuid and ${tenantIs("t.tenant_id")}) as misses
   from app.events e where ${tenantIs("e.tenant_id")} and e.id = $2`,
  { repeatable: true, answers: true },
);

/** The first $3 firings of each event. */
export const firingsOfEventsSql = statement(
  "firings_of_events",
  `select f.*, t.label as trigger_label, d.key as definition_key, coalesce(l.state, a.outcome) as job_status
   from unnest($2::uuid[]) e (id)
   cross join lateral (select f.id, f.event_id, f.trigger_id, f.outcome, f.reason, f.detail, f.job_id
     from app.trigger_firings f where ${tenantIs("f.tenant_id")} and f.event_id = e.id order by f.id limit $3) f
   join app.job_triggers t on t.id = f.trigger_id and ${tenantIs("t.tenant_id")}
   join app.job_definitions d on d.id = t.definition_id
   left join app.live_jobs l on l.job_id = f.job_id and ${tenantIs("l.tenant_id")}
   left join lateral (select outcome from app.job_attempts where l.job_id is null and job_id = f.job_id
     and ${tenantIs("tenant_id")} and outcome is not null and not superseded order by attempt_no desc limit 1) a on true
   order by f.event_id, f.id`,
  { repeatable: true, answers: true },
);

/** The newest events with their data, for a test. */
export const replayEventsSql = statement(
  "replay_events",
  `select e.id, e.name, e.data, e.received_at, e.producer_id, coalesce(e.correlation_id, e.id::text) as correlation_id,
     e.source, e.depth
   from app.events e where ${tenantIs("e.tenant_id")} and ($2::text is null or e.name collate "C" = $2)
   order by e.id desc limit $3`,
  { repeatable: true },
);
