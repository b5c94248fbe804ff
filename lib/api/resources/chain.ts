import { HttpProblem } from "../http/problem";
import type { RequestInfo } from "../http/request-info";

/**
 * Returns the chain depth of the request: the length of the chain of jobs that led to it. Jobs send it in the header
 * Leasehold-Chain with their calls to this API; 0 without the header.
 * @throws HttpProblem 400 when it is not a number
 */
export function chainDepth({ chain }: RequestInfo): number {
  if (chain === null) return 0;
  if (!/^\d{1,4}$/.test(chain.trim()))
    throw new HttpProblem("bad-request", { detail: "Leasehold-Chain must be a whole number." });
  return Number(chain);
}

/**
 * Returns the chain depth for a job that the request creates: one more than the calling job.
 * @throws HttpProblem 409 chain-too-deep
 */
export function chainDepthOfJob(info: RequestInfo, maxDepth: number): number {
  const depth = info.chain === null ? 0 : chainDepth(info) + 1;
  if (depth > maxDepth)
    throw new HttpProblem("chain-too-deep", {
      detail: `The chain of jobs has reached the limit of ${maxDepth}.`,
    });
  return depth;
}
