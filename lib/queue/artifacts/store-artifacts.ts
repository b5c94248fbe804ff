/**
 * Artifacts: files that attempts store with their jobs. An attempt writes chunks while it holds the lease, and the
 * artifact becomes visible when it is finished. A finished artifact replaces the job's earlier one of the same name.
 * Quotas limit the bytes of a job and of a tenant.
 *
 * Start with `beginArtifact`, `appendArtifact` and `finishArtifact`; their SQL functions are in
 * drizzle/functions/artifacts.sql.
 */
import type { Runner } from "@/lib/db";
import type { Lease } from "../attempts/types";
import { LeaseLostError, QueueError } from "../errors";
import {
  appendArtifactSql,
  beginArtifactSql,
  deleteArtifactsWithoutJobSql,
  deleteUnfinishedArtifactsSql,
  discardArtifactsSql,
  finishArtifactSql,
} from "./artifacts.sql";

/** Maximum artifacts of one job, each with another name. */
export const ARTIFACTS_PER_JOB = 100;

/** Maximum bytes over all artifacts. */
export interface ArtifactQuota {
  readonly jobBytes: number;
  readonly tenantBytes: number;
}

interface ArtifactChunk {
  readonly id: string;
  /** Counts from 0 without gaps. */
  readonly no: number;
  /** 1 byte to 1 MiB. */
  readonly bytes: Uint8Array;
}

/**
 * Begins an artifact under the fence and returns its id. The artifact is not visible until it is finished. An
 * unfinished one of the same name is deleted.
 * @throws LeaseLostError if the lease is lost
 * @throws QueueError artifact-quota if the job has too many artifacts
 */
export async function beginArtifact(
  db: Runner,
  { jobId, leaseNo }: Lease,
  { name, contentType }: { readonly name: string; readonly contentType: string },
): Promise<string> {
  const values = [jobId, leaseNo, name, contentType, ARTIFACTS_PER_JOB];
  const [row] = await db.run<{ status: string; artifact: string | null }>(beginArtifactSql, values);
  if (row?.status === "lease-lost") throw new LeaseLostError();
  if (row?.status === "started" && row.artifact) return row.artifact;
  throw new QueueError("artifact-quota", `the job has ${ARTIFACTS_PER_JOB} artifacts, which is the limit`);
}

/**
 * Stores a chunk under the fence. Sending the same chunk again changes nothing.
 * @throws LeaseLostError if the lease is lost
 * @throws QueueError artifact-quota; artifact-gone if the artifact was begun again or deleted
 */
export async function appendArtifact(
  db: Runner,
  { jobId, leaseNo }: Lease,
  { id, no, bytes, quota }: ArtifactChunk & { readonly quota: ArtifactQuota },
): Promise<void> {
  const { jobBytes, tenantBytes } = quota;
  const values = [jobId, leaseNo, id, no, Buffer.from(bytes), jobBytes, tenantBytes];
  const [row] = await db.run<{ status: string }>(appendArtifactSql, values);
  if (row?.status === "job-full") throw full("the job", jobBytes);
  if (row?.status === "tenant-full") throw full("all jobs of the tenant", tenantBytes);
  check(row?.status);
}

/**
 * Makes an artifact visible, in place of the job's earlier one of the same name. Safe to repeat.
 * @throws LeaseLostError if the lease is lost
 * @throws QueueError artifact-gone if the artifact does not exist or does not have `size` bytes
 */
export async function finishArtifact(
  db: Runner,
  { jobId, leaseNo }: Lease,
  { id, size, sha256 }: { readonly id: string; readonly size: number; readonly sha256: Buffer },
): Promise<void> {
  const [row] = await db.run<{ status: string }>(finishArtifactSql, [jobId, leaseNo, id, size, sha256]);
  check(row?.status);
}

/** Deletes unfinished artifacts of an attempt: those with the given ids, or all. */
export async function discardArtifacts(db: Runner, lease: Lease, ids: readonly string[] | null = null): Promise<void> {
  await db.run(discardArtifactsSql, [lease.jobId, lease.leaseNo, ids]);
}

/**
 * Deletes unfinished artifacts of attempts that have ended, and artifacts whose jobs were deleted; at most `limit` of
 * each. Returns how many were deleted.
 */
export async function deleteStrayArtifacts(db: Runner, limit: number): Promise<number> {
  const unfinished = await db.run(deleteUnfinishedArtifactsSql, [limit]);
  const orphans = await db.run(deleteArtifactsWithoutJobSql, [limit]);
  return unfinished.length + orphans.length;
}

function full(whose: string, bytes: number): QueueError {
  return new QueueError("artifact-quota", `the artifacts of ${whose} may have ${bytes} bytes together`);
}

function check(status: string | undefined): void {
  if (status === "stored") return;
  if (status === "lease-lost") throw new LeaseLostError();
  throw new QueueError("artifact-gone", "The artifact was deleted, or is being written again.");
}
