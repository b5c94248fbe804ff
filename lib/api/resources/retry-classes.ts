import type { RetryClasses as Wire } from "@/lib/contract";
import { RETRY_CLASSES } from "@/lib/queue/error-classes";
import type { RetryClasses } from "@/lib/queue/types";

const NAMES = [
  ["retryable", "retryable"],
  ["delay_seconds", "delaySeconds"],
  ["multiplier", "multiplier"],
  ["max_delay_seconds", "maxDelaySeconds"],
  ["max_attempts", "maxAttempts"],
  ["timeout_multiplier", "timeoutMultiplier"],
] as const;

/** Converts a definition's retry policies per error class to the API's form. */
export const retryClassesOut = (classes: RetryClasses): Wire => renamed<Wire>(classes, ([wire, ours]) => [ours, wire]);

/** Converts the API's form back. */
export const retryClassesIn = (classes: Wire): RetryClasses => renamed<RetryClasses>(classes, (pair) => pair);

function renamed<T>(classes: object, order: (pair: (typeof NAMES)[number]) => readonly [string, string]): T {
  const given = classes as Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;
  const entries = RETRY_CLASSES.flatMap((name) => {
    const policy = given[name];
    if (policy === undefined) return [];
    const fields = NAMES.map(order).flatMap(([from, to]) => (policy[from] === undefined ? [] : [[to, policy[from]]]));
    return [[name, Object.fromEntries(fields)]];
  });
  return Object.fromEntries(entries) as T;
}
