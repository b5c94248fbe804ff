import type { AttemptEnd, ClaimedJob } from "@/lib/queue/testing";

/** Ends of attempts as a worker would report them. */

type LeasedJob = Pick<ClaimedJob, "jobId" | "leaseNo" | "tenantId">;

export const leaseOf = ({ jobId, leaseNo, tenantId }: LeasedJob) => ({ jobId, leaseNo, tenantId });

export const succeeded = (claimed: LeasedJob, result: unknown = { ok: true }): AttemptEnd => ({
  ...leaseOf(claimed),
  status: "succeeded",
  outcome: "succeeded",
  spent: true,
  result,
});

/** A failure after which the job waits for another attempt. */
export const retried = (claimed: LeasedJob, retryInSeconds: number): AttemptEnd => ({
  ...leaseOf(claimed),
  status: "failed",
  retryInSeconds,
  spent: true,
  errorType: "unknown",
  errorText: "no",
});

/** A failure that ends the run. */
export const dead = (claimed: ClaimedJob, errorType = "unknown"): AttemptEnd => ({
  ...leaseOf(claimed),
  status: "failed",
  outcome: "dead_letter",
  spent: true,
  errorType,
  errorText: "no",
});
