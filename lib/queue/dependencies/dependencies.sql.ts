import { statement, tenantIs } from "@/lib/db";

/**
 * Expression for the end of a statement that ends jobs (CTE `ended`, with has_dependents) and writes their outcomes
 * (CTE `attempt`, returning job_id). Releases the dependents and returns the lanes where a job changed, or null.
 * Counting `attempt` writes all outcomes first, so the statements of the function see them. (A join of the two CTEs
 * would compare each row with each.)
 */
export const RELEASED = `(select app.release_dependents(array_agg(e.job_id))
     from ended e where e.has_dependents and (select count(*) from attempt) > 0 having count(*) > 0)`;

/** Blocks jobs that just began new runs again, if their parents have not done what they wait for. */
export const waitAgainSql = statement("wait_again", "select app.wait_again($1, $2::uuid[])");

export const sweepDependentsSql = statement("sweep_dependents", "select * from app.sweep_dependents($1, $2)");

/** Reads the first blocked job after `$1`. */
export const nextBlockedSql = statement(
  "next_blocked",
  "select job_id from app.live_jobs where state = 'blocked' and job_id > $1 order by job_id limit 1",
);

export const anyReleaseLeftSql = statement(
  "any_release_left",
  "select exists (select 1 from app.release_backlog) as is_left",
  { repeatable: true },
);

/** Releases dependents from up to `$1` ranges of the backlog of each tenant that has its turn, beginning after `$2`. */
export const workOffReleasesSql = statement(
  "work_off_releases",
  "select handled, lanes, served from app.work_off_releases_in_turns($1, $2)",
);

/**
 * At most $3 edges of the job $2, ordered by the job at the other end. The parent branch runs once per state, because
 * the index of a parent's edges has the state before the child.
 */
const FIRST_EDGES = {
  child: `select * from app.job_dependencies where ${tenantIs("tenant_id")} and child_id = $2 order by parent_id, edge_no limit $3`,
  parent: `select e.* from unnest(array['pending', 'met', 'failed']) s (state) cross join lateral (
             select * from app.job_dependencies where ${tenantIs("tenant_id")} and parent_id = $2 and state = s.state
             order by child_id, edge_no limit $3) e
           order by e.child_id, e.edge_no limit $3`,
};

const edges = (end: "parent" | "child", other: "parent" | "child"): string =>
  `select d.${other}_id as job_id, d.edge_no, f.key as definition_key, coalesce(l.state, a.outcome) as status, d.type, d.condition,
     d.alias, d.state, d.on_failure
   from (${FIRST_EDGES[end]}) d
   join app.jobs j on j.id = d.${other}_id and ${tenantIs("j.tenant_id")}
   join app.job_definitions f on f.id = j.definition_id
   left join app.live_jobs l on l.job_id = j.id and ${tenantIs("l.tenant_id")}
   left join lateral (select outcome from app.job_attempts where job_id = j.id and ${tenantIs("tenant_id")}
     and outcome is not null and not superseded order by attempt_no desc limit 1) a on true
   order by d.${other}_id, d.edge_no`;

export const listParentsSql = statement("list_parents", edges("child", "parent"), { repeatable: true });
export const listChildrenSql = statement("list_children", edges("parent", "child"), { repeatable: true });

/** Reads the first three pending parents of each blocked job in $2, and the number of its pending parents. */
export const pendingParentsSql = statement(
  "pending_parents",
  `select u.child_id, d.n, d.parent_id as job_id, f.key as definition_key
   from unnest($2::uuid[]) u (child_id) cross join lateral (
     select p.parent_id, count(*) over ()::int as n from (
       select distinct parent_id from app.job_dependencies
       where ${tenantIs("tenant_id")} and child_id = u.child_id and state = 'pending') p
     order by p.parent_id limit 3) d
   join app.jobs j on j.id = d.parent_id and ${tenantIs("j.tenant_id")}
   join app.job_definitions f on f.id = j.definition_id
   order by u.child_id, d.parent_id`,
  { repeatable: true },
);

/** Returns which of the given jobs belong to this tenant. */
export const knownJobsSql = statement(
  "known_jobs",
  `select id from app.jobs where ${tenantIs("tenant_id")} and id = any ($2::uuid[])`,
  { repeatable: true },
);
