import { statement } from "@/lib/db";

/** For a live row `r`: true if its attempt is marked as begun, by its own row or by the mark of its worker. */
export const HAS_BEGUN = `(r.attempt_started_at is not null or exists (select 1 from app.attempt_marks s
       where s.worker_id = r.claimed_by_worker and r.claim_no <= s.upto and not s.waiting @> r.claim_no))`;

/**
 * Creates the mark of a registered worker if it has none, and returns how often leases were taken from the worker.
 * Opening bumps `taken`, so a mark still in flight is rejected when it arrives.
 */
export const openMarksSql = statement(
  "open_marks",
  `insert into app.attempt_marks as s (worker_id) select worker_id from app.job_workers where worker_id = $1
   on conflict (worker_id) do update set taken = s.taken + 1 returning taken`,
);

/**
 * Marks all jobs of the worker `$1` up to the number `$2` as begun, except those in `$3`. Returns no row if leases were
 * taken from the worker since `taken` was `$4`. The commit does not wait for the disk. If a crash of the server loses a
 * mark, its attempts count as not begun and their jobs begin again; the next mark repeats everything.
 */
export const markBegunSql = statement(
  "mark_begun",
  `update app.attempt_marks set upto = $2, waiting = $3::int8multirange, marked_at = app.now()
   where worker_id = $1 and taken = $4 and set_config('synchronous_commit', 'off', true) is not null
   returning 1`,
);

/** Reads the leases of the worker `$1` that were claimed under the numbers `$2`. */
export const leasesUnderSql = statement(
  "leases_under",
  `select job_id, lease_no::float8 as lease_no, tenant_id, lane_no from app.live_jobs
   where state = 'running' and claimed_by_worker = $1 and $2::int8multirange @> claim_no`,
  { repeatable: true },
);

/**
 * Rejects the marks of the workers `$1` until those workers open them again. Run it before leases are taken from these
 * workers. Returns the workers whose marks another transaction has locked; no lease may be taken from those in this
 * pass.
 */
export const takeFromWorkersSql = statement(
  "take_from_workers",
  `with free as materialized (
     select worker_id from app.attempt_marks where worker_id = any ($1) order by worker_id for update skip locked
   ), taken as (
     update app.attempt_marks s set taken = s.taken + 1 from free f where s.worker_id = f.worker_id
   )
   select worker_id from app.attempt_marks where worker_id = any ($1) and worker_id not in (select worker_id from free)`,
);
