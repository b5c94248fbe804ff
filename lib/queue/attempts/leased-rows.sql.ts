/**
 * For a LATERAL after a list `x` of leases (job_id, lease_no): the live row of `x` as long as the lease is held. To be
 * ended with a row lock that skips locked rows or with `offset 0`, which keep the planner from turning the join around: it would read
 * all running jobs once for each lease whenever its statistics were taken while nothing ran. For the same reason it asks
 * for a lease instead of the state, which is the same by a constraint but has an index of its own.
 */
export const leasedRows = (columns: string): string => `select ${columns} from app.live_jobs
       where job_id = x.job_id and lease_no = x.lease_no and lease_expires_at is not null`;
