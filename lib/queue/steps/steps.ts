/**
 * Steps: results that an attempt stores by name, so that a later attempt of the same run can resume after them. A
 * result is stored once, under the fence: an attempt that has lost its lease stores nothing.
 *
 * Start with `findStep` and `storeStep`; list-steps.ts reads steps for the API.
 */
import type { Runner } from "@/lib/db";
import type { Lease } from "../attempts/types";
import { checkPayload } from "../enqueue/payload-check.policy";
import { LeaseLostError, QueueError } from "../errors";
import { findStepSql, storeStepSql } from "./steps.sql";

/** Maximum UTF-8 bytes of one step's result. */
export const STEP_RESULT_MAX_BYTES = 256 * 1024;

/** Returns what an earlier attempt of this run stored under the name; null if no attempt has. */
export async function findStep(
  db: Runner,
  { jobId, runNo }: { readonly jobId: string; readonly runNo: number },
  name: string,
): Promise<{ readonly result: unknown } | null> {
  const [row] = await db.run<{ result: unknown }>(findStepSql, [jobId, runNo, name]);
  return row ?? null;
}

/**
 * Stores a step's result once, under the fence.
 * @throws LeaseLostError if the lease is lost: nothing was stored
 * @throws QueueError payload-invalid, payload-too-large for a result that cannot be stored exactly
 */
export async function storeStep(
  db: Runner,
  lease: Lease,
  { name, result }: { readonly name: string; readonly result: unknown },
): Promise<void> {
  const problems = [...checkPayload(name), ...checkPayload(result, { maxBytes: STEP_RESULT_MAX_BYTES })];
  if (problems.length > 0) {
    const isTooLarge = problems.some((problem) => problem.code === "too-large");
    const where = problems.map(({ pointer, detail }) => `${pointer || "/"} ${detail}`).join("; ");
    throw new QueueError(isTooLarge ? "payload-too-large" : "payload-invalid", where, { problems });
  }
  const stored = await db.run(storeStepSql, [lease.jobId, lease.leaseNo, name, JSON.stringify(result)]);
  if (stored.length === 0) throw new LeaseLostError();
}
