import { statement } from "@/lib/db";

/**
 * Adds a worker's usage (`$1` tenants, `$2` queues, `$3` costs) and returns the totals over all workers that changed in
 * the last 5 seconds. Sort by tenant and queue, so that two workers cannot deadlock.
 */
export const shareUsageSql = statement(
  "share_usage",
  `with mine as (
     insert into app.tenant_usage as s (tenant_id, queue_id, cost, updated_at)
     select u.t, u.q, u.c, app.now() from unnest($1::uuid[], $2::int[], $3::float8[]) u (t, q, c)
     on conflict (tenant_id, queue_id) do update set cost = s.cost + excluded.cost, updated_at = excluded.updated_at
     returning tenant_id, queue_id, cost
   )
   select tenant_id, queue_id, cost from mine
   union all
   select s.tenant_id, s.queue_id, s.cost from app.tenant_usage s
   where s.updated_at > app.now() - interval '5 s'
     and not exists (select 1 from mine m where m.tenant_id = s.tenant_id and m.queue_id = s.queue_id)`,
);
