import type * as z from "zod";
import type { completeWork, failWork, settledWork } from "@/lib/contract";
import type { Runner } from "@/lib/db";
import { changeLine } from "@/lib/execution/output/clean-result";
import {
  type AttemptEnd,
  appendLogs,
  decideAttemptEnd,
  decideGiveBack,
  type EndedAttempt,
  type ExecutionEnd,
  type Lease,
  type LeasedAttempt,
  type RunnableDefinition,
} from "@/lib/queue/remote";
import { HttpProblem } from "../http/problem";
import { cleanAnswer, cleanError } from "./clean";
import type { WorkerContext } from "./route";
import { endAttempt } from "./settle";

/** Above the numbers that a worker may give its lines, so that resending an end writes no second line. */
const FIRST_OWN_LINE = 2_000_000_001;

type Settled = z.infer<typeof settledWork>;
type FailBody = z.output<typeof failWork>;
type Params = { jobId: string };

/** Records that a remote attempt succeeded. @throws HttpProblem lease-lost */
export async function complete(context: WorkerContext<Params, z.output<typeof completeWork>>): Promise<Settled> {
  const lease = { jobId: context.params.jobId, leaseNo: context.body.lease_no };
  const ended = await endAttempt(context, lease, {
    isRepeat: ({ status }) => status === "succeeded",
    // The result is cleaned only if the worker holds the lease.
    decide: async ({ job }, definition) => {
      const changes = new Set(context.changes);
      const result = cleanAnswer(context.body.result, (change) => changes.add(change));
      const execution: ExecutionEnd = { kind: "succeeded", result };
      await noteChanges(context.db, lease, [...changes]);
      const environment = context.runtime.config.retry;
      return decideAttemptEnd(context.db, { claimed: job, definition, execution, environment }, Math.random);
    },
  });
  return toSettled(lease, ended);
}

/** Logs to the attempt how the stored result differs from the one that was sent. */
async function noteChanges(db: Runner, lease: Lease, changes: readonly string[]): Promise<void> {
  const chunks = changes.map((change, index) => {
    const body = changeLine(change);
    return { seq: FIRST_OWN_LINE + index, stream: "log", level: "warn", body } as const;
  });
  await appendLogs(db, lease, chunks);
}

/** Records any other end of a remote attempt. Retries are decided as for every job. @throws HttpProblem lease-lost */
export async function fail(context: WorkerContext<Params, FailBody>): Promise<Settled> {
  const { params, body } = context;
  const lease = { jobId: params.jobId, leaseNo: body.lease_no };
  const ended = await endAttempt(context, lease, {
    // A job that is given back too often is stored as failed.
    isRepeat: ({ status, outcome }) =>
      status === body.outcome || (body.outcome === "released" && status === "failed" && outcome !== null),
    decide: (leased, definition) => endOf(context, leased, definition),
  });
  return toSettled(lease, ended);
}

function endOf(
  { db, body, runtime }: WorkerContext<Params, FailBody>,
  { job, cancelRequested }: LeasedAttempt,
  definition: RunnableDefinition,
): Promise<AttemptEnd> {
  if (body.outcome === "canceled" && !cancelRequested) {
    throw new HttpProblem("state-conflict", { detail: "No cancel was requested for this job." });
  }
  if (body.outcome === "released") {
    return decideGiveBack(db, job, { deadLetter: definition.deadLetter, reason: cleanError(body.message ?? "") });
  }
  const environment = runtime.config.retry;
  return decideAttemptEnd(db, { claimed: job, definition, execution: executionOf(body), environment }, Math.random);
}

function executionOf(body: FailBody): ExecutionEnd {
  const message = cleanError(body.message ?? "");
  switch (body.outcome) {
    case "timeout":
      return { kind: "timeout", message: message || "The attempt ran into its time limit." };
    case "canceled":
      return { kind: "canceled" };
    case "snoozed":
      return { kind: "snoozed", seconds: body.snooze_seconds ?? 0, ...(message ? { reason: message } : {}) };
    case "failed":
      return {
        kind: "failed",
        errorType: body.error_class,
        message,
        ...(body.retryable === undefined ? {} : { retryable: body.retryable }),
        ...(body.retry_after_seconds === undefined ? {} : { retryAfterSeconds: body.retry_after_seconds }),
      };
    default:
      return { kind: "released" };
  }
}

function toSettled({ jobId, leaseNo }: Lease, { status, outcome, retryAt }: EndedAttempt): Settled {
  return { job_id: jobId, lease_no: leaseNo, status, outcome, retry_at: retryAt?.toISOString() ?? null };
}
