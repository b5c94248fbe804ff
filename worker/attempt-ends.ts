import type { ChildJob } from "@/lib/execution";
import {
  type AttemptEnd,
  type ClaimedJob,
  decideEnd,
  type ExecutionEnd,
  type NewJob,
  type RunnableDefinition,
} from "@/lib/queue";

/** How log lines name an attempt. */
export const fieldsOf = (job: ClaimedJob, { key }: RunnableDefinition) => ({
  job_id: job.jobId,
  tenant_id: job.tenantId,
  definition_key: key,
  attempt_no: job.leaseNo,
});

/** A child belongs to the job that asked for it, and goes on under its correlation id unless it has one of its own. */
export const asChildOf = (job: ClaimedJob, child: ChildJob): NewJob => ({
  ...(job.correlationId === null ? {} : { correlationId: job.correlationId }),
  ...child,
  parentJobId: job.jobId,
  source: "system",
});

/** The end of an attempt whose children were refused: a failure that says so. */
export function refusedEnd(
  { claimed, definition, random }: { claimed: ClaimedJob; definition: RunnableDefinition; random: () => number },
  { output }: AttemptEnd,
  reason: string,
): AttemptEnd {
  const execution: ExecutionEnd = { kind: "failed", errorType: "validation", message: reason };
  return decideEnd({ claimed, definition, execution, output }, random);
}

/** A job given back before it was started. */
export const released = ({ jobId, leaseNo, tenantId }: ClaimedJob): AttemptEnd => ({
  jobId,
  leaseNo,
  tenantId,
  status: "released",
  retryInSeconds: 0,
  spent: false,
});
