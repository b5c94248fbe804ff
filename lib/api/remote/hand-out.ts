import type { RemoteJob } from "@/lib/contract";
import type { Runner } from "@/lib/db";
import {
  attemptTimeout,
  type ClaimedJob,
  decideAttemptEnd,
  notifyChanges,
  type RunnableDefinition,
  startAttempts,
} from "@/lib/queue";
import { versions } from "./definitions";
import { giveBack, settle } from "./settle";

interface Prepared {
  readonly job: ClaimedJob;
  readonly definition: RunnableDefinition;
}

/**
 * Starts the attempts of claimed jobs and makes them ready to be sent. A job whose payload does not fit the version that
 * it was accepted with is not sent: its attempt ends as failed. One whose lease is lost meanwhile is left out.
 */
export async function handOut(
  db: Runner,
  jobs: readonly ClaimedJob[],
  maxTimeoutSeconds: number,
): Promise<{ readonly jobs: readonly ClaimedJob[]; readonly sent: readonly RemoteJob[] }> {
  const prepared = await Promise.all(jobs.map(async (job) => ({ job, definition: await versions.of(db, job) })));
  const fit: Prepared[] = [];
  for (const one of prepared) if (!(await refused(db, one))) fit.push(one);
  const { begun, expired } = await startAttempts(
    db,
    fit.map(({ job }) => job),
  );
  const held = fit.filter(({ job }) => begun.includes(job.jobId));
  await giveBack(
    db,
    fit.flatMap(({ job }) => (expired.includes(job.jobId) ? [job] : [])),
  );
  notifyChanges(db, [...new Set(held.map(({ job }) => job.laneNo))]);
  return { jobs: held.map(({ job }) => job), sent: held.map((one) => toRemoteJob(one, maxTimeoutSeconds)) };
}

async function refused(db: Runner, { job, definition }: Prepared): Promise<boolean> {
  const problems = definition.validate(job.payload);
  if (problems.length === 0) return false;
  const where = problems.map(({ pointer, detail }) => `${pointer || "/"} ${detail}`).join("; ");
  const message = `The payload does not fit the definition it was accepted with: ${where}`;
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
    lease_seconds: Math.round((job.leaseExpiresAt.getTime() - job.claimedAt.getTime()) / 1000),
    lease_expires_at: job.leaseExpiresAt.toISOString(),
    claimed_at: job.claimedAt.toISOString(),
  };
}
