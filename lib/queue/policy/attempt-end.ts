import type { RetryPolicy } from "../types";
import type { AttemptEnd, AttemptOutput, ClaimedJob, RunnableDefinition } from "../types-worker";
import { decideRetry, type Random } from "./retry";

/** How an execution ended, as far as the policy looks at it. */
export type ExecutionEnd =
  | { readonly kind: "succeeded"; readonly result: unknown }
  | {
      readonly kind: "failed";
      readonly errorType: string;
      readonly message: string;
      readonly retryable: boolean;
      readonly retryAfterSeconds?: number;
      readonly stack?: string;
    }
  | { readonly kind: "timeout"; readonly message: string }
  | { readonly kind: "canceled" }
  | { readonly kind: "released" };

/** The retry policy of one job: what the job says, over what its definition says. */
export function retryPolicyOf(
  job: Pick<ClaimedJob, "retryDelaySeconds" | "retryMultiplier">,
  definition: Pick<RunnableDefinition, "retry">,
): RetryPolicy {
  return {
    ...definition.retry,
    delaySeconds: job.retryDelaySeconds ?? definition.retry.delaySeconds,
    multiplier: job.retryMultiplier ?? definition.retry.multiplier,
  };
}

interface Ended {
  readonly claimed: ClaimedJob;
  readonly definition: RunnableDefinition;
  readonly execution: ExecutionEnd;
  readonly output?: AttemptOutput | undefined;
}

/** Decides what an ended execution means for its job: the run ends, or the job waits for another attempt. */
export function decideEnd({ claimed, definition, execution, output }: Ended, random: Random): AttemptEnd {
  const lease = { jobId: claimed.jobId, leaseNo: claimed.leaseNo, tenantId: claimed.tenantId };
  const base = output === undefined ? lease : { ...lease, output };
  switch (execution.kind) {
    case "succeeded":
      return { ...base, status: "succeeded", outcome: "succeeded", spent: true, result: execution.result };
    case "canceled":
      return { ...base, status: "canceled", outcome: "canceled", spent: false };
    case "released":
      return { ...base, status: "released", retryInSeconds: 0, spent: false };
    case "timeout":
      return {
        ...base,
        status: "timeout",
        ...afterFailure({ claimed, definition }, { retryable: true }, random),
        errorType: "timeout",
        errorText: execution.message,
      };
    case "failed":
      return {
        ...base,
        status: "failed",
        ...afterFailure({ claimed, definition }, execution, random),
        errorType: execution.errorType,
        errorText: textOf(execution),
      };
  }
}

/** The message first, so that a list can show one line, then where it came from. */
function textOf({ message, stack }: { readonly message: string; readonly stack?: string }): string {
  const frames = (stack ?? "").split("\n").filter((line) => line.trimStart().startsWith("at "));
  return [message, ...frames].join("\n");
}

function afterFailure(
  { claimed, definition }: Pick<Ended, "claimed" | "definition">,
  failure: { readonly retryable: boolean; readonly retryAfterSeconds?: number },
  random: Random,
): Pick<AttemptEnd, "spent" | "outcome" | "retryInSeconds"> {
  const decision = decideRetry(
    {
      attemptsSpent: claimed.attemptsSpent + 1,
      maxAttempts: claimed.maxAttempts,
      retryable: failure.retryable,
      deadLetter: definition.deadLetter,
      ...(failure.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: failure.retryAfterSeconds }),
    },
    retryPolicyOf(claimed, definition),
    random,
  );
  return decision.outcome === "retry"
    ? { spent: true, retryInSeconds: decision.delaySeconds }
    : { spent: true, outcome: decision.outcome };
}
