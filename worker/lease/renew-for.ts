import { attemptTimeout, type ClaimedJob, type RunnableDefinition } from "@/lib/queue/worker";

/** Time after timeout and grace in which an attempt's end is still being recorded. */
const SETTLE_MS = 60_000;
const LONGEST_LEASE_MS = 3_600_000;
/** How long a job that was claimed ahead may wait for a slot. */
export const LONGEST_WAIT_MS = 1000;

/** Returns the milliseconds after which an attempt has ended or is hopelessly stuck. */
export function overMs(job: ClaimedJob, definition: RunnableDefinition, maxTimeoutSeconds: number): number {
  const seconds = attemptTimeout(job, definition, maxTimeoutSeconds) + definition.killGraceSeconds;
  return seconds * 1000 + SETTLE_MS;
}

/** Returns for how many milliseconds the lease of a newly claimed job may be renewed. */
export function renewForMs(
  job: ClaimedJob,
  definition: RunnableDefinition | undefined,
  maxTimeoutSeconds: number,
): number {
  return definition
    ? LONGEST_WAIT_MS + overMs(job, definition, maxTimeoutSeconds)
    : maxTimeoutSeconds * 1000 + LONGEST_LEASE_MS + SETTLE_MS;
}
