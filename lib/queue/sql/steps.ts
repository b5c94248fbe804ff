import { statement } from "@/lib/db";

/** What an earlier attempt of this run stored under a name. */
export const findStepSql = statement(
  "find_step",
  "select result from app.job_steps where job_id = $1 and run_no = $2 and name = $3",
  { repeatable: true },
);

/**
 * Stores a step's result while the lease is held, and keeps the lease from being taken until it is stored; no row = the
 * lease is lost. Storing it again after an unknown answer changes nothing.
 */
export const storeStepSql = statement(
  "store_step",
  `with holder as materialized (
     select job_id, lease_no, run_no, tenant_id from app.live_jobs
     where job_id = $1 and lease_no = $2 and state = 'running' for share
   ), written as (
     insert into app.job_steps (job_id, run_no, name, tenant_id, attempt_no, result)
     select h.job_id, h.run_no, $3, h.tenant_id, h.lease_no, $4::jsonb from holder h
     on conflict do nothing
   )
   select 1 as held from holder`,
);

/** The steps of a job in the order in which they were done; large results are left out. */
export const listStepsSql = statement(
  "list_steps",
  `select run_no, name, attempt_no, created_at, octet_length(result::text) as result_bytes,
     case when octet_length(result::text) <= $3 then result end as result
   from app.job_steps where tenant_id = $1 and job_id = $2
   order by run_no desc, created_at, name limit 1000`,
  { repeatable: true },
);
