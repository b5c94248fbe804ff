import { statement, tenantIs } from "@/lib/db";

// `t` is the triage row of a dead letter that was changed, if it is of this run.
const TOUCHED = `left join app.dead_letters t on ${tenantIs("t.tenant_id")} and t.job_id = a.job_id and t.run_no = a.run_no`;
const FROM = `app.job_attempts a ${TOUCHED}`;
const IS_DEAD = `${tenantIs("a.tenant_id")} and a.outcome = 'dead_letter'
     and a.outcome in ('failed', 'dead_letter', 'canceled', 'expired') and not a.superseded`;
const MATCHES = `($2::uuid is null or a.job_id < $2) and ($3::text[] is null or coalesce(t.status, 'pending') = any ($3))
     and ($4::text is null or a.error_type = $4) and ($5::text is null or exists (select 1 from app.jobs j
       join app.job_definitions d on d.id = j.definition_id where j.id = a.job_id and d.key = $5))`;
const TRIAGE = `a.job_id, a.run_no, coalesce(t.status, 'pending') as status, coalesce(t.note, '') as note, t.changed_at,
     u.email as changed_by`;
const WHO = "left join app.users u on u.id = t.changed_by";

/** Reads the tenant's dead letters, newest job first. */
export const listDeadLettersSql = statement(
  "list_dead_letters",
  `select ${TRIAGE} from ${FROM} ${WHO} where ${IS_DEAD} and ${MATCHES} order by a.job_id desc limit $6 offset $7`,
  { repeatable: true, answers: true },
);

/**
 * Scans the newest $7 dead letters below $2 and returns up to $6 that match. `floor` is the last one scanned, null if
 * there were fewer. The cost does not depend on how many match.
 */
export const walkDeadLettersSql = statement(
  "walk_dead_letters",
  `with seen as materialized (
     select a.job_id, a.run_no, a.error_type from app.job_attempts a
     where ${IS_DEAD} and ($2::uuid is null or a.job_id < $2) order by a.job_id desc limit $7::int
   )
   select array(select a.job_id from seen a ${TOUCHED} where ${MATCHES} order by a.job_id desc limit $6) as ids,
     case when (select count(*) from seen) = $7::int then (select job_id from seen order by job_id limit 1) end as floor`,
  { repeatable: true },
);

/** Counts the dead letters, up to a limit. */
export const countDeadLettersSql = statement(
  "count_dead_letters",
  `select count(*)::int as n from (select 1 from ${FROM} where ${IS_DEAD} and ${MATCHES} limit $6) x`,
  { repeatable: true },
);

export const getDeadLetterSql = statement(
  "get_dead_letter",
  `select ${TRIAGE} from ${FROM} ${WHO} where ${IS_DEAD} and a.job_id = $2`,
  { repeatable: true, answers: true },
);

/** Keeps a dead letter from being redriven until the transaction ends. No row = the job is not a dead letter. */
export const lockDeadLetterSql = statement(
  "lock_dead_letter",
  `select a.run_no from app.job_attempts a where ${IS_DEAD} and a.job_id = $2 for update`,
);

/** Changes the triage of the run $3 of a job. A null value keeps the stored one, unless that is of an earlier run. */
export const triageSql = statement(
  "triage_dead_letter",
  `insert into app.dead_letters as t (tenant_id, job_id, run_no, status, note, changed_by)
   values ($1, $2, $3, coalesce($4, 'pending'), coalesce($5, ''), $6)
   on conflict (tenant_id, job_id) do update set run_no = excluded.run_no, changed_at = app.now(), changed_by = excluded.changed_by,
     status = case when t.run_no = excluded.run_no then coalesce($4, t.status) else excluded.status end,
     note = case when t.run_no = excluded.run_no then coalesce($5, t.note) else excluded.note end`,
);

/** Resolves dead letters whose work the job $3 took over. A note that a person wrote is kept. */
export const answeredSql = statement(
  "answer_dead_letters",
  `insert into app.dead_letters as t (tenant_id, job_id, run_no, status, note, changed_by)
   select a.tenant_id, a.job_id, a.run_no, 'resolved', 'Retried as job ' || $3::uuid || ' with another payload.', $4
   from app.job_attempts a where ${IS_DEAD} and a.job_id = any ($2::uuid[])
   on conflict (tenant_id, job_id) do update set run_no = excluded.run_no, changed_at = app.now(),
     changed_by = excluded.changed_by, status = 'resolved',
     note = case when t.run_no = excluded.run_no and t.note <> '' then t.note else excluded.note end`,
);

/** Reads what people and keys did to a job, newest first. */
export const jobEventsSql = statement(
  "job_events",
  `select x.at, x.action, x.from_status, x.to_status, x.reason as note, x.actor_kind, coalesce(u.email, k.name) as actor
   from app.job_audit x
   left join app.users u on x.actor_kind = 'user' and u.id = x.actor_id
   left join app.api_keys k on x.actor_kind = 'api_key' and k.id = x.actor_id and ${tenantIs("k.tenant_id")}
   where ${tenantIs("x.tenant_id")} and x.job_id = $2 order by x.id desc limit 200`,
  { repeatable: true, answers: true },
);
