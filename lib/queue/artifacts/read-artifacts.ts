import type { Database, Runner, TenantTransaction } from "@/lib/db";
import type { Lease } from "../attempts/types";
import { getJob, inTenant } from "../read/get-job";
import type { ArtifactView, TenantScope } from "../types";
import {
  artifactUsageSql,
  attemptArtifactSql,
  getArtifactSql,
  listArtifactsSql,
  ownChunkSql,
  readArtifactChunkSql,
} from "./artifacts.sql";

type Scope = Pick<TenantScope, "tenantId">;

export interface ArtifactRow {
  id: string;
  job_id: string;
  run_no: number;
  attempt_no: number;
  name: string;
  content_type: string;
  size: number;
  chunks: number;
  sha256: string;
  /** Null while it is being written. */
  completed_at: Date;
}

/** Lists the complete artifacts of a job by name; null if there is no such job. */
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

/** Returns the bytes of all artifacts of the tenant, including unfinished ones; its quota limits this sum. */
export function readArtifactUsage(db: Database | TenantTransaction, scope: Scope): Promise<number> {
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<{ bytes: number }>(artifactUsageSql, [scope.tenantId]);
    return row?.bytes ?? 0;
  });
}

/** Returns one complete artifact; null if the tenant's job has no such artifact. */
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

/** Reads the bytes of one chunk in its own transaction; null if the artifact was deleted meanwhile. */
export function readArtifactChunk(db: Database, scope: Scope, artifactId: string, no: number): Promise<Buffer | null> {
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<{ bytes: Buffer }>(readArtifactChunkSql, [scope.tenantId, artifactId, no]);
    return row?.bytes ?? null;
  });
}

/**
 * Returns what an attempt has stored under a name so far, for its writer. `view` is null until the artifact is
 * complete.
 */
export async function findAttemptArtifact(
  db: Runner,
  { jobId, leaseNo }: Lease,
  name: string,
): Promise<(Pick<ArtifactView, "id" | "chunks" | "size"> & { isComplete: boolean; view: ArtifactView | null }) | null> {
  const [row] = await db.run<ArtifactRow>(attemptArtifactSql, [jobId, leaseNo, name]);
  if (!row) return null;
  const isComplete = row.completed_at !== null;
  return { id: row.id, chunks: row.chunks, size: row.size, isComplete, view: isComplete ? toArtifact(row) : null };
}

/** Reads a chunk of an artifact that an attempt is writing; null if the artifact was deleted. */
export async function readOwnChunk(
  db: Runner,
  { jobId, leaseNo }: Lease,
  { id, no }: { readonly id: string; readonly no: number },
): Promise<Buffer | null> {
  const [row] = await db.run<{ bytes: Buffer }>(ownChunkSql, [jobId, leaseNo, id, no]);
  return row?.bytes ?? null;
}

export function toArtifact(row: ArtifactRow): ArtifactView {
  return {
    id: row.id,
    job_id: row.job_id,
    run_no: row.run_no,
    attempt_no: row.attempt_no,
    name: row.name,
    content_type: row.content_type,
    size: row.size,
    chunks: row.chunks,
    sha256: row.sha256,
    created_at: row.completed_at,
  };
}
