import { statement, tenantIs } from "@/lib/db";

/**
 * For the end of a statement that ends jobs (CTE `ended`, with has_dependents) and writes their outcomes (CTE `attempt`,
 * returning job_id): tells their children, and answers the lanes where that changed something, or null. The function's
 * own statements see the outcomes, because counting `attempt` has written them all. (A join of the two would compare each
 * with each.)
 */
export const RELEASED = `(select app.release_dependents(array_agg(e.job_id))
     from ended e where e.has_dependents and (select count(*) from attempt) > 0 having count(*) > 0)`;

/** New ids in rising order for `$2` jobs, and which of the jobs `$3` this tenant has. */
export const planLinksSql = statement(
  "plan_links",
  `select array(select app.new_id() from generate_series(1, $2::int) order by 1) as ids,
     array(select id from app.jobs where ${tenantIs("tenant_id")} and id = any ($3::uuid[])) as known`,
);

/** Where jobs stand that were just enqueued with dependencies. */
export const linkedStatesSql = statement(
  "linked_states",
  `select x.id as job_id, coalesce(l.state, a.outcome) as state, coalesce(l.ready, false) as ready
   from unnest($2::uuid[]) x (id)
   left join app.live_jobs l on l.job_id = x.id and ${tenantIs("l.tenant_id")}
   left join lateral (select outcome from app.job_attempts where job_id = x.id and ${tenantIs("tenant_id")}
     and outcome is not null and not superseded order by attempt_no desc limit 1) a on true`,
);

/** For a job that just began a new run. The answer says where it stands after its parents were looked at. */
export const waitAgainSql = statement("wait_again", "select app.wait_again($1, array[$2]::uuid[])");

export const sweepDependentsSql = statement("sweep_dependents", "select * from app.sweep_dependents($1, $2)");
