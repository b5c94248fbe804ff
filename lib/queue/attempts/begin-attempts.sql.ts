import { statement } from "@/lib/db";

/** For a live row `r`: whether its attempt has begun, as far as its worker has noted. */
export const HAS_BEGUN = `(r.attempt_started_at is not null or exists (select 1 from app.attempt_marks s
       where s.worker_id = r.claimed_by_worker and r.claim_no <= s.upto and not s.waiting @> r.claim_no))`;

/**
 * For a worker that is registered: makes its row, if need be, and answers how often leases were taken from it. To ask
 * counts, too: a note that was sent before and is still under way is refused when it arrives.
 */
export const openMarksSql = statement(
  "open_marks",
  `insert into app.attempt_marks as s (worker_id) select worker_id from app.job_workers where worker_id = $1
   on conflict (worker_id) do update set taken = s.taken + 1 returning taken`,
);

/**
 * Notes that of the worker `$1` all jobs up to the number `$2` have begun, but those in `$3`; no row when leases were
 * taken from it since the `$4`-th time. The commit does not wait for the disk: what is lost with the server says that
 * attempts have not begun whose jobs begin again, and the next note says all of it once more.
 */
export const markBegunSql = statement(
  "mark_begun",
  `update app.attempt_marks set upto = $2, waiting = $3::int8multirange, marked_at = app.now()
   where worker_id = $1 and taken = $4 and set_config('synchronous_commit', 'off', true) is not null
   returning 1`,
);

/** Leases of the worker `$1` that were claimed under the numbers `$2`. */
export const leasesUnderSql = statement(
  "leases_under",
  `select job_id, lease_no::float8 as lease_no, tenant_id, lane_no from app.live_jobs
   where state = 'running' and claimed_by_worker = $1 and $2::int8multirange @> claim_no`,
  { repeatable: true },
);

/**
 * Before leases are taken from the workers `$1`: from now on their notes are refused until they ask again. Returns the
 * workers whose rows another transaction has locked, from which nothing may be taken now.
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
