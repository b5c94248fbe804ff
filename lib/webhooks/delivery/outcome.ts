import { failure, stoppedOutcome } from "@/lib/execution/command/outcome";
import { retryAfter } from "@/lib/execution/retry-after";
import type { ErrorClass, Outcome, StopReason } from "@/lib/execution/types";
import type { Failed } from "./failure";
import type { Answer } from "./send";

/** Seconds after the first, second … failed attempt. */
const DELAYS = [5, 300, 1800, 7200, 18_000, 36_000, 36_000];
const JITTER = 0.2;
const LONGEST_ASKED = 3600;
/** What a definition that delivers webhooks starts with, so that the delays above are what happens. */
export const WEBHOOK_ATTEMPTS: number = DELAYS.length + 1;
export const WEBHOOK_LONGEST_DELAY = Math.max(...DELAYS) * (1 + JITTER);

/** These end the same way the next time, or nobody wants a next time. */
const FINAL: readonly Failed["code"][] = ["blocked", "too_large"];
const GONE = 410;

/** Seconds until the next attempt, after this one of the run failed (counted from 1). */
function webhookDelay(failedAttempts: number, random: () => number): number {
  const delay = DELAYS[Math.min(Math.max(failedAttempts, 1), DELAYS.length) - 1] ?? 0;
  return delay * (1 + JITTER * (2 * random() - 1));
}

export const isGone = (answer: Answer): boolean => answer.statusCode === GONE;

interface AttemptState {
  /** Failed attempts of the run, this one included if it failed. */
  readonly attempts: number;
  readonly random: () => number;
  readonly stopReason: StopReason;
}

/** What a delivery means for its job. */
export function webhookOutcome(answer: Answer, { attempts, random, stopReason }: AttemptState): Outcome {
  const { failed, statusCode, durationMs } = answer;
  if (failed === null) return { kind: "succeeded", result: { status_code: statusCode, duration_ms: durationMs } };
  if (failed.code === "stopped") return stoppedOutcome(stopReason, "the delivery was cut off");
  const retryable = !FINAL.includes(failed.code) && !isGone(answer);
  const message = `The webhook was not delivered (${failed.code}): ${failed.detail}.`;
  const failedOutcome = failure(classOf(failed, statusCode), message, retryable);
  if (!retryable) return failedOutcome;
  return { ...failedOutcome, retryAfterSeconds: Math.max(webhookDelay(attempts, random), askedSeconds(answer)) };
}

/** What the receiver asked for, as far as it may. */
function askedSeconds({ statusCode, retryAfter: header }: Answer): number {
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
