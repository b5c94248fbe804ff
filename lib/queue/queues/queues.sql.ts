import { statement } from "@/lib/db";
import { IS_PAUSE_NOW } from "../pauses/pauses.sql";

const COLUMNS = `q.id, q.name, q.description, q.default_priority, q.timeout_seconds, q.max_attempts, q.retry_delay_seconds,
  q.retry_multiplier, q.weight, q.is_active, q.version, q.created_at, q.updated_at`;

/** All queues with their active pause. `$1`: a tenant whose own pause also counts; null = none. */
export const listQueueSettingsSql = statement(
  "list_queue_settings",
  `select ${COLUMNS}, (
     select jsonb_build_object('scope', p.scope, 'reason', p.reason, 'since', p.paused_at, 'until', p.paused_until)
     from app.pauses p
     where ${IS_PAUSE_NOW}
       and (p.scope = 'all' or p.queue_id = q.id or p.tenant_id = $1::uuid)
     order by p.scope <> 'all', p.scope <> 'tenant' limit 1) as pause
   from app.job_queues q order by q.name limit 1000`,
  { repeatable: true },
);

export const lockQueueSql = statement(
  "lock_queue",
  `select ${COLUMNS}, null::jsonb as pause from app.job_queues q where q.id = $1 for update`,
);

/** Values in the order of `values` in queues.ts. */
export const insertQueueSql = statement(
  "insert_queue",
  `insert into app.job_queues (name, description, default_priority, timeout_seconds, max_attempts, retry_delay_seconds,
     retry_multiplier, weight, is_active)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (name) do nothing returning id`,
);

export const updateQueueSql = statement(
  "update_queue",
  `update app.job_queues set description = $2, default_priority = $3, timeout_seconds = $4, max_attempts = $5,
     retry_delay_seconds = $6, retry_multiplier = $7, weight = $8, is_active = $9, version = version + 1,
     updated_at = app.now()
   where name = $1 returning id`,
);

/** The retry settings of a lane's queue. */
export const queueRetrySql = statement(
  "queue_retry",
  `select q.retry_delay_seconds, q.retry_multiplier from app.lanes l join app.job_queues q on q.id = l.queue_id
   where l.lane_no = $1`,
  { repeatable: true },
);
