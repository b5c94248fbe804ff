import type { Database, TenantTransaction } from "@/lib/db";
import { getArtifactSql, listArtifactsSql, readArtifactChunkSql } from "../sql/artifacts";
import type { ArtifactView, TenantScope } from "../types";
import { getJob, inTenant } from "./get-job";

type Scope = Pick<TenantScope, "tenantId">;

interface ArtifactRow {
  id: string;
  job_id: string;
  run_no: number;
  attempt_no: number;
  name: string;
  content_type: string;
  size: number;
  chunks: number;
  sha256: string;
  completed_at: Date;
}

/** The complete artifacts of a job by name; null when there is no such job. */
export function listArtifacts(
  db: Database | TenantTransaction,
  scope: Scope,
  jobId: string,
): Promise<ArtifactView[] | null> {
  return inTenant(db, scope, async (tx) => {
    const rows = await tx.run<ArtifactRow>(listArtifactsSql, [scope.tenantId, jobId]);
    if (rows.length === 0 && (await getJob(tx, scope, jobId)) === null) return null;
    return rows.map(toArtifact);
  });
}

/** One complete artifact; null when the tenant's job has no such artifact. */
export function getArtifact(
  db: Database | TenantTransaction,
  scope: Scope,
  { jobId, artifactId }: { readonly jobId: string; readonly artifactId: string },
): Promise<ArtifactView | null> {
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<ArtifactRow>(getArtifactSql, [scope.tenantId, jobId, artifactId]);
    return row ? toArtifact(row) : null;
  });
}

/** The bytes of one chunk, read in a transaction of its own; null when the artifact was deleted meanwhile. */
export function readArtifactChunk(db: Database, scope: Scope, artifactId: string, no: number): Promise<Buffer | null> {
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<{ bytes: Buffer }>(readArtifactChunkSql, [scope.tenantId, artifactId, no]);
    return row?.bytes ?? null;
  });
}

function toArtifact(row: ArtifactRow): ArtifactView {
  return {
    id: row.id,
    jobId: row.job_id,
    runNo: row.run_no,
    attemptNo: row.attempt_no,
    name: row.name,
    contentType: row.content_type,
    size: row.size,
    chunks: row.chunks,
    sha256: row.sha256,
    createdAt: row.completed_at,
  };
}
