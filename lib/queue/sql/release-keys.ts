/**
 * For a statement that ends jobs (CTE `ended`, with tenant_id, job_id and has_dedupe_key): ends a taken dedupe key with its
 * job, unless its window goes on. A batch without keys does not look at the table. (app.end_blocked has the same.)
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
