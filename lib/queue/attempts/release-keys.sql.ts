/**
 * CTEs for a statement that ends jobs (CTE `ended`, with tenant_id, job_id and has_dedupe_key). They delete the dedupe
 * keys of these jobs. A key whose window continues stays, but is no longer live. A batch without keys does not read the
 * table. (app.end_blocked repeats these.)
 */
export const RELEASE_KEYS = `freed as (
     delete from app.dedupe_keys k using ended e
     where (select bool_or(has_dedupe_key) from ended) and e.has_dedupe_key and k.tenant_id = e.tenant_id and k.job_id = e.job_id
       and (k.held_until is null or k.held_until <= app.now())
   ), kept as (
     update app.dedupe_keys k set live = false from ended e
     where (select bool_or(has_dedupe_key) from ended) and e.has_dedupe_key and k.tenant_id = e.tenant_id
       and k.job_id = e.job_id and k.held_until > app.now()
   )`;

/**
 * Condition for a sweep over live_jobs `l`: false while another transaction has locked the job's dedupe key, which the
 * end of the job has to release. Otherwise the key is locked until the end of the transaction.
 */
export const KEY_IS_FREE = `(not l.has_dedupe_key
       or exists (select 1 from app.dedupe_keys k where k.tenant_id = l.tenant_id and k.job_id = l.job_id
         for update skip locked)
       or not exists (select 1 from app.dedupe_keys k where k.tenant_id = l.tenant_id and k.job_id = l.job_id))`;
