import { decideRetry, type Random } from "../retry/retry.policy";
import { policyFor } from "../retry/retry-levels.policy";
import type { RetrySettings } from "../types";
import type { AttemptEnd, AttemptOutput, ClaimedJob, RunnableDefinition } from "./types";

/** How an execution ended, as far as the policy needs it. */
export type ExecutionEnd =
  | { readonly kind: "succeeded"; readonly result: unknown }
  | {
      readonly kind: "failed";
      readonly errorType: string;
      readonly message: string;
      /** Set by the code that failed; if missing, the error class decides. */
      readonly retryable?: boolean;
      readonly retryAfterSeconds?: number;
      readonly stack?: string;
    }
  | { readonly kind: "timeout"; readonly message: string }
  | { readonly kind: "canceled" }
  | { readonly kind: "released"; readonly reason?: string }
  | { readonly kind: "snoozed"; readonly seconds: number; readonly reason?: string };

/** Maximum snoozes in one run, because a job that always snoozes would never end. */
export const MAX_SNOOZES = 1000;
const SNOOZE_SECONDS = { least: 1, most: 604_800 } as const;

export interface Ended {
  readonly claimed: ClaimedJob;
  readonly definition: RunnableDefinition;
  readonly execution: ExecutionEnd;
  readonly output?: AttemptOutput | undefined;
  /** Retry settings of the job's queue and of the installation. */
  readonly queue?: RetrySettings | undefined;
  readonly environment?: RetrySettings | undefined;
}

/** Returns the end of an attempt that is given back: its job is queued at once, and no attempt is spent. */
export const givenBackEnd = ({
  jobId,
  leaseNo,
  tenantId,
}: Pick<ClaimedJob, "jobId" | "leaseNo" | "tenantId">): AttemptEnd => ({
  jobId,
  leaseNo,
  tenantId,
  status: "released",
  retryInSeconds: 0,
  spent: false,
});

/** Decides what an ended execution means for its job: the run ends, or the job is queued for another attempt. */
export function decideEnd(ended: Ended, random: Random): AttemptEnd {
  const { claimed, execution, output } = ended;
  const lease = { jobId: claimed.jobId, leaseNo: claimed.leaseNo, tenantId: claimed.tenantId };
  const base = output === undefined ? lease : { ...lease, output };
  switch (execution.kind) {
    case "succeeded":
      return { ...base, status: "succeeded", outcome: "succeeded", spent: true, result: execution.result };
    case "canceled":
      return { ...base, status: "canceled", outcome: "canceled", spent: false };
    case "released":
      return { ...base, ...givenBackEnd(claimed) };
    case "snoozed":
      return { ...base, ...afterSnooze(ended, execution) };
    case "timeout":
      return {
        ...base,
        status: "timeout",
        ...afterFailure(ended, { errorType: "timeout" }, random),
        errorType: "timeout",
        errorText: execution.message,
      };
    case "failed":
      return {
        ...base,
        status: "failed",
        ...afterFailure(ended, execution, random),
        errorType: execution.errorType,
        errorText: textOf(execution),
      };
  }
}

function afterSnooze(
  { claimed, definition }: Ended,
  { seconds, reason }: { readonly seconds: number; readonly reason?: string },
): Omit<AttemptEnd, "jobId" | "leaseNo" | "tenantId"> {
  if (claimed.snoozes >= MAX_SNOOZES) {
    const errorText = `It was snoozed ${MAX_SNOOZES} times in this run.`;
    const outcome = definition.deadLetter ? "dead_letter" : "failed";
    return { status: "failed", outcome, spent: true, errorType: "internal", errorText };
  }
  const { least, most } = SNOOZE_SECONDS;
  const retryInSeconds = Math.min(Math.max(seconds || least, least), most);
  return { status: "snoozed", retryInSeconds, spent: false, ...(reason === undefined ? {} : { errorText: reason }) };
}

/** Returns the message first, so that a list can show one line, then the stack frames. */
function textOf({ message, stack }: { readonly message: string; readonly stack?: string }): string {
  const frames = (stack ?? "").split("\n").filter((line) => line.trimStart().startsWith("at "));
  return [message, ...frames].join("\n");
}

function afterFailure(
  { claimed, definition, queue, environment }: Ended,
  failure: { readonly errorType: string; readonly retryable?: boolean; readonly retryAfterSeconds?: number },
  random: Random,
): Pick<AttemptEnd, "spent" | "outcome" | "retryInSeconds"> {
  const policy = policyFor(failure.errorType, { job: claimed, definition, queue, environment });
  const decision = decideRetry(
    {
      attemptsSpent: claimed.attemptsSpent + 1,
      maxAttempts: Math.min(claimed.maxAttempts, policy.max_attempts ?? claimed.maxAttempts),
      retryable: failure.retryable ?? policy.retryable,
      deadLetter: definition.deadLetter,
      ...(failure.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: failure.retryAfterSeconds }),
    },
    policy,
    random,
  );
  return decision.outcome === "retry"
    ? { spent: true, retryInSeconds: decision.delaySeconds }
    : { spent: true, outcome: decision.outcome };
}
