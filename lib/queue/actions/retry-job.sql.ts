import { statement, tenantIs } from "@/lib/db";
import { counted } from "../attempts/counted.sql";
import { RELEASE_KEYS } from "../attempts/release-keys.sql";

/**
 * Locks the outcomes of jobs' last runs in the order of their ids, and returns what a new run needs. A job without a
 * row does not exist or has not finished.
 */
export const lockOutcomesSql = statement(
  "lock_outcomes",
  `select a.job_id, a.attempt_no, a.outcome as status, j.lane_no, j.dedupe_key, d.is_active
   from app.job_attempts a
   join app.jobs j on j.id = a.job_id join app.job_definitions d on d.id = j.definition_id
   where ${tenantIs("a.tenant_id")} and a.job_id = any ($2::uuid[]) and a.outcome is not null and not a.superseded
   order by a.job_id for update of a`,
);

const UNMET = `d.child_id = any ($2::uuid[]) and d.state <> 'met' and d.on_failure <> 'run'
     and ${tenantIs("d.tenant_id")} and not app.edge_holds(d.type, d.condition, o.outcome, o.result)`;

/**
 * Returns the given jobs that a parent keeps from running: the parent has ended, did not do what the job waits for, and
 * does not begin a new run with it. Such a parent is not among the jobs, is one of $3, or is itself kept from running.
 */
export const blockedByParentsSql = statement(
  "blocked_by_parents",
  `with recursive blocked (job_id) as (
     select d.child_id from app.job_dependencies d cross join lateral app.outcomes_of(array[d.parent_id]) o
     where ${UNMET} and (d.parent_id <> all ($2::uuid[]) or d.parent_id = any ($3::uuid[]))
       and not exists (select 1 from app.live_jobs l where l.job_id = d.parent_id and ${tenantIs("l.tenant_id")})
     union
     select d.child_id from blocked b join app.job_dependencies d on d.parent_id = b.job_id
       cross join lateral app.outcomes_of(array[d.parent_id]) o
     where ${UNMET}
   )
   select job_id from blocked`,
);

/** Takes the dedupe keys $3 for the jobs $2 (parallel arrays) again, and returns the holder of each key. */
export const takeKeysSql = statement(
  "take_keys_again",
  `select key, job_id from app.take_dedupe_keys($1, $3::text[], $2::uuid[], array_fill(null::timestamptz, array[cardinality($3::text[])]))`,
);

/** Releases the keys of jobs that took them but do not begin a run, as the end of a job does. */
export const giveKeysBackSql = statement(
  "give_keys_back",
  `with ended as (
     select $1::uuid as tenant_id, x.id as job_id, true as has_dedupe_key from unnest($2::uuid[]) x (id)
   ), ${RELEASE_KEYS}
   select 1 from ended limit 0`,
);

export const reviveKeysSql = statement(
  "revive_dedupe_keys",
  `update app.dedupe_keys k set live = true from unnest($2::uuid[], $3::text[]) x (job_id, key)
   where ${tenantIs("k.tenant_id")} and k.key = x.key and k.job_id = x.job_id`,
);

/**
 * Begins the next runs of finished jobs: the old outcomes (in the attempts $3) are superseded, lease numbers continue
 * to rise, and the count of spent attempts begins at 0.
 */
export const startRunsSql = statement(
  "start_runs",
  `with over as (
     update app.job_attempts a set superseded = true from unnest($2::uuid[], $3::bigint[]) x (job_id, attempt_no)
     where ${tenantIs("a.tenant_id")} and a.job_id = x.job_id and a.attempt_no = x.attempt_no
     returning a.job_id, a.attempt_no, a.run_no
   ), live as (
     insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for, run_no, lease_no, has_dedupe_key)
     select j.id, j.tenant_id, j.lane_no, 'queued', true, app.sort_key_of(app.now(), j.priority), j.priority, app.now(),
       over.run_no + 1, over.attempt_no, j.dedupe_key is not null
     from over join app.jobs j on j.id = over.job_id and ${tenantIs("j.tenant_id")}
     returning job_id, tenant_id, lane_no
   ), ${counted("retried", "live")}
   select job_id, lane_no from live`,
);

/** Reads the settings that a job has set itself, without those of its definition or queue. */
export const ownSettingsSql = statement(
  "own_settings",
  `select timeout_seconds, retry_delay_seconds, retry_multiplier, chain_depth from app.jobs where ${tenantIs("tenant_id")} and id = $2`,
);
