import { statement } from "@/lib/db";

const SELECT = `select c.id, c.scope, q.name as queue, d.key as definition_key, t.slug as tenant, c.max_running,
     c.starts_per_second, c.burst, c.limited_at, c.limited_by, c.created_at, c.updated_at
   from app.concurrency_limits c
   left join app.job_queues q on q.id = c.queue_id
   left join app.job_definitions d on d.id = c.definition_id
   left join app.tenants t on t.id = c.tenant_id`;

export const listLimitsSql = statement("list_limits", `${SELECT} order by c.id limit 5000`, { repeatable: true });

export const limitByIdSql = statement("limit_by_id", `${SELECT} where c.id = $1`);

/** Like `limitByIdSql`, but locks the row. Concurrent changes of a limit run one after the other, so none is lost. */
export const lockLimitSql = statement("lock_limit", `${SELECT} where c.id = $1 for update of c`);

/** No row = this target already has a limit. */
export const insertLimitSql = statement(
  "insert_limit",
  `insert into app.concurrency_limits (scope, queue_id, definition_id, tenant_id, max_running, starts_per_second, burst)
   values ($1, $2, $3, $4, $5, $6, $7)
   on conflict on constraint concurrency_limits_one_for_each do nothing returning id`,
);

export const updateLimitSql = statement(
  "update_limit",
  `update app.concurrency_limits set max_running = $2, starts_per_second = $3, burst = $4, updated_at = app.now()
   where id = $1 returning id`,
);

export const deleteLimitSql = statement(
  "delete_limit",
  "delete from app.concurrency_limits where id = $1 returning id",
);

/** Deletes the tokens of a limit that was deleted, or that no longer limits starts. */
export const deleteBucketsSql = statement("delete_buckets", "delete from app.rate_buckets where limit_id = $1");
