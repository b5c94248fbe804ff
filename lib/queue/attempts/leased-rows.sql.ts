/**
 * Returns a query to use as LATERAL after a list `x` of leases (job_id, lease_no): the live row of `x`, if the lease is
 * held. End it with a row lock or with `offset 0`, which keep the planner from reversing the join. Reversed, the query
 * would read all running jobs once per lease whenever the statistics were taken while nothing ran. For the same reason
 * the query tests the lease and not the state: by a constraint both are equivalent, but the state has its own index.
 */
export const leasedRows = (columns: string): string => `select ${columns} from app.live_jobs
       where job_id = x.job_id and lease_no = x.lease_no and lease_expires_at is not null`;
