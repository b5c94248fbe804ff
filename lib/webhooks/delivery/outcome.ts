import { failure, stoppedOutcome } from "@/lib/execution/command/outcome";
import { retryAfter } from "@/lib/execution/retry-after";
import type { ErrorClass, Outcome, StopReason } from "@/lib/execution/types";
import type { Failed } from "./failure";
import type { ReceiverAnswer } from "./send";

/** Seconds after the first, second … failed attempt. */
const DELAYS = [5, 300, 1800, 7200, 18_000, 36_000, 36_000];
const JITTER = 0.2;
const LONGEST_ASKED = 3600;
/** Defaults of a definition that delivers webhooks, so that the delays above apply. */
export const WEBHOOK_ATTEMPTS: number = DELAYS.length + 1;
export const WEBHOOK_LONGEST_DELAY = Math.max(...DELAYS) * (1 + JITTER);

/** Codes that are not retried, because the next attempt would end in the same way. */
const FINAL: readonly Failed["code"][] = ["blocked", "too_large"];
const GONE = 410;

/** Returns the seconds until the next attempt, after this failed attempt of the run (counted from 1). */
function webhookDelay(failedAttempts: number, random: () => number): number {
  const delay = DELAYS[Math.min(Math.max(failedAttempts, 1), DELAYS.length) - 1] ?? 0;
  return delay * (1 + JITTER * (2 * random() - 1));
}

export const isGone = (answer: ReceiverAnswer): boolean => answer.statusCode === GONE;

interface AttemptState {
  /** Failed attempts of the run, this one included if it failed. */
  readonly attempts: number;
  readonly random: () => number;
  readonly stopReason: StopReason;
}

/** Returns the outcome of a job from its delivery. */
export function webhookOutcome(answer: ReceiverAnswer, { attempts, random, stopReason }: AttemptState): Outcome {
  const { failed, statusCode, durationMs } = answer;
  if (failed === null) return { kind: "succeeded", result: { status_code: statusCode, duration_ms: durationMs } };
  if (failed.code === "stopped") return stoppedOutcome(stopReason, "the delivery was cut off");
  const retryable = !FINAL.includes(failed.code) && !isGone(answer);
  const message = `The webhook was not delivered (${failed.code}): ${failed.detail}.`;
  const failedOutcome = failure(classOf(failed, statusCode), message, retryable);
  if (!retryable) return failedOutcome;
  return { ...failedOutcome, retryAfterSeconds: Math.max(webhookDelay(attempts, random), askedSeconds(answer)) };
}

/** Returns the seconds that the receiver asked for with `Retry-After`, capped. */
function askedSeconds({ statusCode, retryAfter: header }: ReceiverAnswer): number {
  if (statusCode !== 429 && statusCode !== 503) return 0;
  return Math.min(retryAfter(header) ?? 0, LONGEST_ASKED);
}

function classOf({ code }: Failed, statusCode: number | null): ErrorClass {
  switch (code) {
    case "http_status":
      return classOfStatus(statusCode ?? 0);
    case "blocked":
      return "permission";
    case "redirect":
    case "too_large":
    case "bad_response":
      return "unknown";
    default:
      return "transient_network";
  }
}

function classOfStatus(status: number): ErrorClass {
  if (status === 429) return "rate_limit";
  if (status === 401) return "authentication";
  if (status === 403) return "permission";
  if (status === 404 || status === GONE) return "not_found";
  return status >= 400 && status < 500 ? "invalid_input" : "transient_network";
}
