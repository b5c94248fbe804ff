import type { RemoteJob } from "@/lib/contract";
import type { Runner } from "@/lib/db";
import {
  attemptTimeout,
  type ClaimedJob,
  decideAttemptEnd,
  notifyChanges,
  type RunnableDefinition,
} from "@/lib/queue/remote";
import { Turns } from "@/lib/turns";
import { versions } from "./definitions";
import { giveBack, settle } from "./settle";

interface Prepared {
  readonly job: ClaimedJob;
  readonly definition: RunnableDefinition;
}

/**
 * Prepares claimed jobs for sending. An attempt begins with the worker's first request about it (`markHeard`), so a job
 * whose answer is lost in flight spends none. A job whose payload does not fit the version that it was accepted with is
 * not sent; its attempt ends as failed. A job whose expires_at may have passed is given back.
 * @param since when the claim was sent, by `performance.now()`
 */
export async function handOut(
  db: Runner,
  jobs: readonly ClaimedJob[],
  { maxTimeoutSeconds, since }: { readonly maxTimeoutSeconds: number; readonly since: number },
): Promise<{ readonly jobs: readonly ClaimedJob[]; readonly sent: readonly RemoteJob[] }> {
  const prepared = await Promise.all(jobs.map(async (job) => ({ job, definition: await versions.of(db, job) })));
  const fit: Prepared[] = [];
  const turns = new Turns();
  for (const one of prepared) {
    await turns.next();
    if (!(await refused(db, one))) fit.push(one);
  }
  // One clock reading for both lists, so that no job is both sent and given back.
  const age = performance.now() - since;
  const isInTime = ({ job }: Prepared) => age < (job.expiresInMs ?? Number.POSITIVE_INFINITY);
  const [ready, late] = [fit.filter(isInTime), fit.filter((one) => !isInTime(one))];
  await giveBack(
    db,
    late.map(({ job }) => job),
  );
  notifyChanges(db, [...new Set(ready.map(({ job }) => job.laneNo))]);
  return { jobs: ready.map(({ job }) => job), sent: ready.map((one) => toRemoteJob(one, maxTimeoutSeconds)) };
}

async function refused(db: Runner, { job, definition }: Prepared): Promise<boolean> {
  const problems = definition.validate(job.payload);
  if (problems.length === 0) return false;
  const where = problems.map(({ pointer, detail }) => `${pointer || "/"} ${detail}`).join("; ");
  const message = `The payload does not match the definition version it was accepted with: ${where}`;
  const execution = { kind: "failed", errorType: "validation", message, retryable: false } as const;
  const ended = { claimed: job, definition, execution };
  await settle(db, job.laneNo, await decideAttemptEnd(db, ended, Math.random));
  return true;
}

function toRemoteJob({ job, definition }: Prepared, maxTimeoutSeconds: number): RemoteJob {
  return {
    job_id: job.jobId,
    lease_no: job.leaseNo,
    tenant_id: job.tenantId,
    definition_key: definition.key,
    definition_version: definition.version,
    payload: job.payload,
    priority: job.priority,
    run_no: job.runNo,
    attempt: job.attemptsSpent + 1,
    max_attempts: job.maxAttempts,
    idempotency_key: `${job.jobId}:${job.runNo}`,
    correlation_id: job.correlationId,
    chain_depth: job.chainDepth,
    timeout_seconds: attemptTimeout(job, definition, maxTimeoutSeconds),
    kill_grace_seconds: definition.killGraceSeconds,
    lease_seconds: job.leaseSeconds,
    lease_expires_at: new Date(job.claimedAt.getTime() + job.leaseSeconds * 1000).toISOString(),
    claimed_at: job.claimedAt.toISOString(),
  };
}
