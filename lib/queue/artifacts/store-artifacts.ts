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

/** Artifacts that one job may have, each of another name. */
export const ARTIFACTS_PER_JOB = 100;

/** In bytes, over all artifacts. */
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
 * Starts an artifact under the fence and returns its id. It is not visible before it is finished; an unfinished one of the
 * same name is deleted.
 * @throws LeaseLostError when the lease is lost
 * @throws QueueError artifact-quota when the job has too many artifacts
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
 * @throws LeaseLostError when the lease is lost
 * @throws QueueError artifact-quota; artifact-gone when it was begun again or deleted
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
 * @throws LeaseLostError when the lease is lost
 * @throws QueueError artifact-gone when it is not there, or does not have `size` bytes
 */
export async function finishArtifact(
  db: Runner,
  { jobId, leaseNo }: Lease,
  { id, size, sha256 }: { readonly id: string; readonly size: number; readonly sha256: Buffer },
): Promise<void> {
  const [row] = await db.run<{ status: string }>(finishArtifactSql, [jobId, leaseNo, id, size, sha256]);
  check(row?.status);
}

/** Deletes unfinished artifacts of an attempt: those of the given ids, or all. */
export async function discardArtifacts(db: Runner, lease: Lease, ids: readonly string[] | null = null): Promise<void> {
  await db.run(discardArtifactsSql, [lease.jobId, lease.leaseNo, ids]);
}

/**
 * Deletes unfinished artifacts of attempts that are over, and artifacts whose jobs were deleted; at most `limit` of
 * each. Returns how many.
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
