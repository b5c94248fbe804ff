import type { Database, Runner, TenantTransaction } from "@/lib/db";
import type { Lease } from "../attempts/types";
import { getJob, inTenant } from "../read/get-job";
import type { Artifact, TenantScope } from "../types";
import {
  artifactUsageSql,
  attemptArtifactSql,
  getArtifactSql,
  listArtifactsSql,
  ownChunkSql,
  readArtifactChunkSql,
} from "./artifacts.sql";

type Scope = Pick<TenantScope, "tenantId">;

/** An artifact as its chunks are read. */
export type StoredArtifact = Artifact & { readonly chunks: number };

/** Lists the complete artifacts of a job by name; null if there is no such job. */
export function listArtifacts(
  db: Database | TenantTransaction,
  scope: Scope,
  jobId: string,
): Promise<Artifact[] | null> {
  return inTenant(db, scope, async (tx) => {
    const rows = await tx.run<Artifact>(listArtifactsSql, [scope.tenantId, jobId]);
    if (rows.length === 0 && (await getJob(tx, scope, jobId)) === null) return null;
    return rows;
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
): Promise<StoredArtifact | null> {
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<StoredArtifact>(getArtifactSql, [scope.tenantId, jobId, artifactId]);
    return row ?? null;
  });
}

/** Reads the bytes of one chunk in its own transaction; null if the artifact was deleted meanwhile. */
export function readArtifactChunk(db: Database, scope: Scope, artifactId: string, no: number): Promise<Buffer | null> {
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<{ bytes: Buffer }>(readArtifactChunkSql, [scope.tenantId, artifactId, no]);
    return row?.bytes ?? null;
  });
}

/** `created_at` is null until the artifact is complete. */
type UnfinishedArtifact = Omit<StoredArtifact, "created_at"> & { readonly created_at: string | null };

/**
 * Returns what an attempt has stored under a name so far, for its writer. `artifact` is null until the
 * artifact is complete.
 */
export async function findAttemptArtifact(
  db: Runner,
  { jobId, leaseNo }: Lease,
  name: string,
): Promise<(Pick<StoredArtifact, "id" | "chunks" | "size"> & { readonly artifact: Artifact | null }) | null> {
  const [row] = await db.run<UnfinishedArtifact>(attemptArtifactSql, [jobId, leaseNo, name]);
  if (!row) return null;
  const { chunks, created_at, ...artifact } = row;
  const { id, size } = artifact;
  return { id, chunks, size, artifact: created_at === null ? null : { ...artifact, created_at } };
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
