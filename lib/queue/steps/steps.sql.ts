import { statement } from "@/lib/db";

/** Reads what an earlier attempt of this run stored under a name. */
export const findStepSql = statement(
  "find_step",
  "select result from app.job_steps where job_id = $1 and run_no = $2 and name = $3",
  { repeatable: true },
);

/**
 * Stores a step's result if the lease is held, and keeps the lease from being taken until the result is stored. No row
 * = the lease is lost. Storing the step again after an unknown answer changes nothing.
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

/**
 * Reads the steps of a job, latest run first and in a run in the order in which they were stored, after the step $5 of
 * run $4 (null = from the first). Returns at most $6 steps and at most $7 bytes, but at least one step; a result of
 * more than $3 bytes is left out. `found` counts one step more than $6 if there is one.
 */
export const listStepsSql = statement(
  "list_steps",
  `select run_no, name, attempt_no::float8 as attempt_no, created_at, result_bytes, case when result_bytes <= $3 then result end as result, found
   from (
     select s.*, count(*) over ()::int as found, row_number() over done as row_no,
       sum(octet_length(name) + case when result_bytes <= $3 then result_bytes else 0 end) over done as bytes
     from (
       select run_no, name, attempt_no, created_at, result, octet_length(result::text) as result_bytes
       from app.job_steps where tenant_id = $1 and job_id = $2
         and ($4::int is null or run_no < $4 or run_no = $4 and (created_at, name) > ((
           select a.created_at from app.job_steps a
           where a.tenant_id = $1 and a.job_id = $2 and a.run_no = $4 and a.name = $5), $5))
       order by run_no desc, created_at, name limit $6::int + 1) s
     window done as (order by run_no desc, created_at, name)) p
   where row_no <= $6 and (row_no = 1 or bytes <= $7) order by run_no desc, created_at, name`,
  { repeatable: true, answers: true },
);
