import { type Database, statement } from "@/lib/db";
import type { ClaimedJob, TenantScope } from "@/lib/queue/testing";
import type { TestDatabase } from "@/lib/testing/database";
import type { Factory } from "@/lib/testing/rows/factories";

interface Bulk {
  readonly scope: TenantScope;
  readonly definitionKey: string;
  readonly count: number;
}

/** Writes ready jobs of one lane as enqueue would, in two statements. */
export async function bulkJobs(
  database: TestDatabase,
  make: Factory,
  { scope, definitionKey, count }: Bulk,
): Promise<void> {
  const { id } = await make.job(scope, { definitionKey });
  await database.query(
    `with made as (
       insert into app.jobs (tenant_id, definition_id, definition_version, lane_no, source, scheduled_for, max_attempts)
       select j.tenant_id, j.definition_id, 1, j.lane_no, 'manual', now(), 3 from app.jobs j, generate_series(2, $2::int)
       where j.id = $1 returning id, tenant_id, lane_no, scheduled_for)
     insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for)
     select id, tenant_id, lane_no, 'queued', true, app.sort_key_of(scheduled_for, 100) + random(), 100, scheduled_for from made`,
    [id, count],
  );
}

/** The most leases that ran at one time, over all tenants or for one, from the recorded leases. */
export async function mostAtOnce(database: TestDatabase, scope?: TenantScope): Promise<number> {
  const [row] = await database.query<{ most: number }>(
    `with lease as (
       select tenant_id, claimed_at as began, finished_at as ended from app.job_attempts where worker_id is not null
       union all
       select tenant_id, claimed_at, 'infinity' from app.live_jobs where state = 'running'
     ), mine as materialized (select * from lease where $1::uuid is null or tenant_id = $1)
     select max((select count(*) from mine o where o.began <= m.began and o.ended > m.began))::int as most from mine m`,
    [scope?.tenantId ?? null],
  );
  return row?.most ?? 0;
}

/** By how many starts any interval between two starts exceeded burst + rate × its length; 0 or less = never. */
export async function mostStartsOver(
  database: TestDatabase,
  { rate, burst }: { readonly rate: number; readonly burst: number },
): Promise<number> {
  const rows = await database.query<{ at: number }>(
    `select extract(epoch from claimed_at)::float8 as at from app.job_attempts where worker_id is not null
     union all select extract(epoch from claimed_at)::float8 from app.live_jobs where state = 'running' order by 1`,
  );
  let most = Number.NEGATIVE_INFINITY;
  for (const [from, first] of rows.entries())
    for (const [index, last] of rows.slice(from).entries())
      most = Math.max(most, index + 1 - burst - rate * (last.at - first.at));
  return most;
}

const naiveSql = statement(
  "naive_claim",
  `with room as materialized (
     select greatest(0, $1 - count(*)) as n from app.live_jobs where state = 'running'
   ), picked as materialized (
     select ctid as tid from app.live_jobs where ready order by sort_key limit (select n from room) for update skip locked
   )
   update app.live_jobs r set state = 'running', ready = false, lease_no = r.lease_no + 1, claimed_by_worker = $2,
     claimed_at = app.clock(), lease_expires_at = app.now() + interval '30 s'
   where r.ctid = any (array(select tid from picked)) returning r.job_id, r.lease_no, r.tenant_id`,
);

/** A wrong claim for comparison: it counts running jobs in the same statement that takes jobs. */
export function naiveClaim(db: Database, { maxRunning }: { readonly maxRunning: number }) {
  return async (workerId: string): Promise<Pick<ClaimedJob, "jobId" | "leaseNo" | "tenantId">[]> => {
    const rows = await db.run<{ job_id: string; lease_no: number; tenant_id: string }>(naiveSql, [
      maxRunning,
      workerId,
    ]);
    return rows.map((row) => ({ jobId: row.job_id, leaseNo: Number(row.lease_no), tenantId: row.tenant_id }));
  };
}
