import type { Database } from "@/lib/db";
import type { ChildJob, Execution } from "@/lib/execution";
import type { Logger } from "@/lib/observability/log";
import {
  type AttemptEnd,
  type ClaimedJob,
  decideAttemptEnd,
  decideEnd,
  decideGiveBack,
  type ExecutionEnd,
  givenBackEnd,
  type NewJob,
  type Refused,
  type RunnableDefinition,
} from "@/lib/queue/worker";
import type { RunTools } from "./run-attempt";

/** Log fields that identify an attempt. */
export const fieldsOf = (job: ClaimedJob, { key }: RunnableDefinition) => ({
  job_id: job.jobId,
  tenant_id: job.tenantId,
  definition_key: key,
  attempt_no: job.leaseNo,
});

/** Logs how an attempt ended, and a warning if its end was refused because the lease was lost. */
export function logEnd(
  log: Logger,
  {
    claimed,
    definition,
    end,
    isLost,
  }: Pick<Ran, "claimed" | "definition"> & { readonly end: AttemptEnd; readonly isLost: boolean },
): void {
  const fields = {
    ...fieldsOf(claimed, definition),
    status: end.status,
    outcome: end.outcome,
    error_type: end.errorType,
  };
  if (isLost) log.warn(fields, "lease lost, result refused");
  else log[end.outcome === "succeeded" ? "debug" : "info"](fields, "attempt ended");
}

/** A child's parent is the job that enqueued it. The child inherits the correlation id unless it has its own. */
const asChildOf = (job: ClaimedJob, child: ChildJob): NewJob => ({
  ...(job.correlationId === null ? {} : { correlationId: job.correlationId }),
  ...child,
  chainDepth: job.chainDepth,
  parentJobId: job.jobId,
  source: "system",
});

interface Ran {
  readonly claimed: ClaimedJob;
  readonly definition: RunnableDefinition;
  readonly random: () => number;
  readonly beganAt?: number | undefined;
}

/**
 * Returns the end of an attempt that succeeded and enqueued no children, which needs no decision. Otherwise undefined.
 */
export function plainEndOf(
  { job: { jobId, leaseNo, tenantId }, beganAt }: { readonly job: ClaimedJob; readonly beganAt: number | undefined },
  { outcome, output, children }: Execution,
): AttemptEnd | undefined {
  if (outcome.kind !== "succeeded" || children !== undefined) return undefined;
  const { result } = outcome;
  return { jobId, leaseNo, tenantId, beganAt, output, status: "succeeded", outcome: "succeeded", spent: true, result };
}

/** Decides how an attempt ends. Null when the lease is lost, because there is nothing to record then. */
export async function endOf(
  { db, tools, claimed, definition, random, beganAt }: Ran & { readonly db: Database; readonly tools: RunTools },
  { outcome, output, children }: Execution,
): Promise<AttemptEnd | null> {
  if (outcome.kind === "lease_lost") return null;
  if (outcome.kind === "released" && outcome.reason !== undefined)
    return { ...(await givenBack(db, { claimed, definition }, outcome.reason)), output, beganAt };
  const ended = { claimed, definition, execution: outcome, output, environment: tools.retry };
  const decided = { ...(await decideAttemptEnd(db, ended, random)), beganAt };
  const isSuspect =
    decided.status === "released" && definition.executor === "handler" && tools.quarantine?.isOverMemory;
  const end = isSuspect ? { ...decided, suspect: true } : decided;
  return children === undefined ? end : { ...end, children: children.map((child) => asChildOf(claimed, child)) };
}

/**
 * Returns the end of an attempt whose children were refused: a failure with the reason or, if they will be accepted
 * later, the end that gives the job back.
 */
export async function refusedEnd(
  { db, claimed, definition, random }: Ran & { readonly db: Database },
  { output, beganAt }: AttemptEnd,
  { reason, isLater }: Refused,
): Promise<AttemptEnd> {
  if (isLater) return { ...(await givenBack(db, { claimed, definition }, reason)), output, beganAt };
  const execution: ExecutionEnd = { kind: "failed", errorType: "validation", message: reason };
  return { ...decideEnd({ claimed, definition, execution, output }, random), beganAt };
}

function givenBack(
  db: Database,
  { claimed, definition }: Pick<Ran, "claimed" | "definition">,
  reason: string,
): Promise<AttemptEnd> {
  // An unavailable database cannot count how often the run was given back. This one is accepted, and counted next time.
  const uncounted = () => ({ ...givenBackEnd(claimed), errorText: reason });
  return decideGiveBack(db, claimed, { deadLetter: definition.deadLetter, reason }).catch(uncounted);
}
