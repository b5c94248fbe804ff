import { ADVISORY_LOCKS, statement, tenantIs } from "@/lib/db";

/** Sorts below every id: the position of an action that has walked over all of its jobs. */
export const LOWEST = "00000000-0000-0000-0000-000000000000";

/** Accepts an action. Jobs that are enqueued later have greater ids, so the action does not include them. */
export const acceptBulkActionSql = statement(
  "accept_bulk_action",
  `insert into app.bulk_actions (tenant_id, action, priority, scheduled_for, target, next_before, total, total_is_exact,
     actor_kind, actor_id, user_id, request_id)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning id`,
);

/** Lets the callers of one tenant count one after the other, each until its transaction ends. */
export const lockOpenActionsSql = statement(
  "lock_open_actions",
  `select pg_advisory_xact_lock(${ADVISORY_LOCKS.bulkActionsOfTenant})`,
);

/** Runs after the lock, as a statement of its own, so it sees the actions that earlier callers accepted. */
export const countOpenActionsSql = statement(
  "count_open_actions",
  `select count(*)::int as n from app.bulk_actions where ${tenantIs("tenant_id")} and finished_at is null`,
);

export const newIdSql = statement("new_id", "select app.new_id() as id");

const VIEW = `b.id, b.action, b.priority, b.scheduled_for, b.target, b.status, b.stop_reason, b.total,
  case when b.total_is_exact then 'eq' else 'gte' end as total_relation, b.done_count as done,
  b.skipped_count as skipped, b.failed_count as failed,
  jsonb_build_object('kind', b.actor_kind, 'email', u.email) as created_by, b.created_at, b.started_at, b.finished_at,
  b.abort_requested_at`;

export const listBulkActionsSql = statement(
  "list_bulk_actions",
  `select ${VIEW} from app.bulk_actions b left join app.users u on u.id = b.user_id
   where ${tenantIs("b.tenant_id")} and ($2::uuid is null or b.id < $2) order by b.id desc limit $3 offset $4`,
  { repeatable: true, answers: true },
);

export const countBulkActionsSql = statement(
  "count_bulk_actions",
  `select count(*)::int as n from (select 1 from app.bulk_actions where ${tenantIs("tenant_id")} limit $2) x`,
  { repeatable: true },
);

export const getBulkActionSql = statement(
  "get_bulk_action",
  `select ${VIEW} from app.bulk_actions b left join app.users u on u.id = b.user_id
   where ${tenantIs("b.tenant_id")} and b.id = $2`,
  { repeatable: true, answers: true },
);

/** Reads the results of an action's jobs in the order of processing, after the last position of the previous page. */
export const bulkResultsSql = statement(
  "bulk_results",
  `select c.chunk_no, x.n::int as place, x.job_id, x.result
   from app.bulk_action_chunks c cross join lateral unnest(c.job_ids, c.results) with ordinality x (job_id, result, n)
   where ${tenantIs("c.tenant_id")} and c.action_id = $2 and (c.chunk_no, x.n) > ($3::int, $4::int)
     and ($5::text[] is null or x.result = any ($5)) order by c.chunk_no, x.n limit $6`,
  { repeatable: true },
);

export const requestAbortSql = statement(
  "request_abort",
  `update app.bulk_actions set abort_requested_at = coalesce(abort_requested_at, app.now())
   where ${tenantIs("tenant_id")} and id = $2 and finished_at is null returning id`,
);

/** True if any tenant has an unfinished action. Keeps an idle scheduler from opening transactions. */
export const anyOpenActionSql = statement(
  "any_open_action",
  "select exists (select 1 from app.bulk_actions where finished_at is null) as is_open",
  { repeatable: true },
);

/**
 * Selects the next action: of the tenants with the least time ahead ($4, by tenant $3; 0 if absent), the one whose last
 * turn is longest ago, and of this tenant the action that waited longest. Writes the leader's term ($1) on the action,
 * so that no earlier leader can work on it. An action whose turns failed $2 times in a row is stopped.
 */
export const takeBulkActionSql = statement(
  "take_bulk_action",
  `with next as (
     select b.id from app.bulk_actions b where b.finished_at is null
     order by coalesce(($4::float8[])[array_position($3::uuid[], b.tenant_id)], 0), (select max(x.taken_at) from app.bulk_actions x where x.tenant_id = b.tenant_id) nulls first,
       coalesce(b.taken_at, b.created_at), b.id limit 1 for update skip locked
   )
   update app.bulk_actions b set term = $1, taken_at = app.now(), tries = b.tries + 1,
     status = case when b.tries >= $2 then 'stopped' else b.status end,
     stop_reason = case when b.tries >= $2 then 'failed-repeatedly' end,
     finished_at = case when b.tries >= $2 then app.now() end
   from next where b.id = next.id returning b.id, b.tenant_id, b.status`,
);

/** Locks an action for one chunk, if it is open and still belongs to the given term. */
export const lockBulkActionSql = statement(
  "lock_bulk_action",
  `select action, priority, scheduled_for, target, next_before, chunk_count, actor_kind, actor_id, user_id, request_id,
     abort_requested_at is not null as abort_requested
   from app.bulk_actions where ${tenantIs("tenant_id")} and id = $2 and term = $3 and finished_at is null for update`,
  { answers: true },
);

/**
 * Stores the results of a chunk, the new position of the action ($6: NULL = past all jobs), and the jobs ($10) that the
 * chunk set aside. Jobs that are set aside keep the action open.
 */
export const storeChunkSql = statement(
  "store_chunk",
  `with chunk as (
     insert into app.bulk_action_chunks (tenant_id, action_id, chunk_no, job_ids, results, held_ids)
     select $1, $2, $3::int, $4::uuid[], $5::text[], $10::uuid[] where cardinality($4::uuid[]) + cardinality($10::uuid[]) > 0
   ), rest as (
     select $6::uuid is null and cardinality($10::uuid[]) = 0 and not exists (select 1 from app.bulk_action_chunks
       where ${tenantIs("tenant_id")} and action_id = $2 and cardinality(held_ids) > 0) as is_over
   )
   update app.bulk_actions set chunk_count = $3::int, next_before = coalesce($6::uuid, '${LOWEST}'), tries = 0,
     status = case when rest.is_over then 'done' else 'running' end, started_at = coalesce(started_at, app.now()),
     finished_at = case when rest.is_over then app.now() end,
     done_count = done_count + $7, skipped_count = skipped_count + $8, failed_count = failed_count + $9
   from rest where ${tenantIs("tenant_id")} and id = $2`,
);

/**
 * Takes up to $3 of the jobs that one chunk set aside, the oldest first: the last chunk's, and of these the last ones.
 * No row: no jobs are left.
 */
export const takeSetAsideJobsSql = statement(
  "take_held_jobs",
  `with next as (
     select chunk_no, held_ids from app.bulk_action_chunks
     where ${tenantIs("tenant_id")} and action_id = $2 and cardinality(held_ids) > 0 order by chunk_no desc limit 1
   )
   update app.bulk_action_chunks c set held_ids = trim_array(next.held_ids, least($3::int, cardinality(next.held_ids))) from next
   where ${tenantIs("c.tenant_id")} and c.action_id = $2 and c.chunk_no = next.chunk_no
   returning next.held_ids[cardinality(next.held_ids) - $3::int + 1:] as held_ids`,
);

/** Until the end of the transaction. Behind what finds the jobs: how long that takes does not depend on their number. */
export const boundChunkSql = statement("bound_chunk", "select set_config('statement_timeout', '2s', true)");

export const endBulkActionSql = statement(
  "end_bulk_action",
  `update app.bulk_actions set status = $3, stop_reason = $4, finished_at = app.now() where ${tenantIs("tenant_id")} and id = $2`,
);

export const deleteOldBulkActionsSql = statement(
  "delete_old_bulk_actions",
  `delete from app.bulk_actions where id = any (array(
     select id from app.bulk_actions where finished_at < app.now() - interval '30 days'
     limit $1 for update skip locked)) returning 1`,
);

/** Finds the lowest id that a scanning filter read below $2; the next read begins there. */
export const windowFloorSql = statement(
  "window_floor",
  `select id from app.jobs where ${tenantIs("tenant_id")} and id < $2 and id >= $3 order by id desc offset $4 limit 1`,
  { repeatable: true },
);

/** Returns which of the given jobs have one of the statuses, newest first. */
export const jobsInStatusSql = statement(
  "jobs_in_status",
  `select x.id from unnest($2::uuid[]) x (id)
   left join app.live_jobs l on l.job_id = x.id and ${tenantIs("l.tenant_id")}
   left join lateral (select a.outcome from app.job_attempts a where a.job_id = x.id and ${tenantIs("a.tenant_id")}
     and a.outcome is not null and not a.superseded limit 1) a on true
   where coalesce(l.state, a.outcome) = any ($3::text[]) order by x.id desc`,
  { repeatable: true },
);
