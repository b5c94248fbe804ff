import type { Database, TenantTransaction } from "@/lib/db";
import { statement, tenantIs } from "@/lib/db";
import { countArtifactsSql } from "../artifacts/artifacts.sql";
import type { JobRow, TenantScope } from "../types";
import { getFeedRows, inTenant } from "./get-job";

const NEWEST = 200;

/** The state of each watched job between two polls of a feed, as one short text. */
export type FeedPosition = ReadonlyMap<string, string>;

export interface ChangedJobs {
  readonly changed: readonly JobRow[];
  readonly position: FeedPosition;
}

const watchedIdsSql = statement(
  "watched_job_ids",
  `(select job_id as id from app.live_jobs where ${tenantIs("tenant_id")} and state = 'running' order by job_id desc limit ${NEWEST})
   union (select id from app.jobs where ${tenantIs("tenant_id")} order by id desc limit ${NEWEST})
   union (select unnest($2::uuid[]))`,
  { repeatable: true },
);

/**
 * Returns the jobs of a tenant that changed since the last poll: among its newest 200, at most 200 that run, and those
 * that ran at the last poll. The first poll returns no changes, only a position.
 */
export function changedJobs(
  db: Database,
  scope: Pick<TenantScope, "tenantId">,
  since?: FeedPosition,
): Promise<ChangedJobs> {
  return inTenant(db, scope, async (tx) => {
    const ran = [...(since ?? [])].filter(([, state]) => state.startsWith("running")).map(([id]) => id);
    const ids = await tx.run<{ id: string }>(watchedIdsSql, [scope.tenantId, ran]);
    const jobs = await getFeedRows(
      tx,
      scope,
      ids.map((row) => row.id),
    );
    const artifacts = await artifactsOfRunning(tx, scope, jobs);
    const position = new Map(jobs.map((job) => [job.id, fingerprint(job, artifacts.get(job.id) ?? 0)]));
    const changed = since === undefined ? [] : jobs.filter((job) => since.get(job.id) !== position.get(job.id));
    return { changed, position };
  });
}

/**
 * The number of artifacts per running job. They are part of the fingerprint, because a new artifact changes nothing
 * else of its job.
 */
async function artifactsOfRunning(
  tx: TenantTransaction,
  { tenantId }: Pick<TenantScope, "tenantId">,
  jobs: readonly JobRow[],
): Promise<ReadonlyMap<string, number>> {
  const running = jobs.filter(({ status }) => status === "running").map(({ id }) => id);
  if (running.length === 0) return new Map();
  const rows = await tx.run<{ job_id: string; n: number }>(countArtifactsSql, [tenantId, running]);
  return new Map(rows.map(({ job_id, n }) => [job_id, n]));
}

function fingerprint(job: JobRow, artifacts: number): string {
  return [
    job.status,
    job.run_no,
    job.attempt_count,
    job.progress?.percent,
    job.progress?.message,
    job.cancel_requested_at,
    job.scheduled_for,
    job.priority,
    job.claimed_by_worker,
    job.wait_reason?.code,
    artifacts,
  ].join("|");
}
