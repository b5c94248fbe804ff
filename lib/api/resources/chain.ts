import { HttpProblem } from "../http/problem";
import type { RequestInfo } from "../http/request-info";

/**
 * How many jobs that caused each other lie before this request: what the header Leasehold-Chain says, which jobs send with
 * what they ask of this API; 0 without it.
 * @throws HttpProblem 400 when it is no number
 */
export function chainDepth({ chain }: RequestInfo): number {
  if (chain === null) return 0;
  if (!/^\d{1,4}$/.test(chain.trim()))
    throw new HttpProblem("bad-request", { detail: "Leasehold-Chain must be a whole number." });
  return Number(chain);
}

/**
 * The same for a job that the request asks for: one more than the job that asks.
 * @throws HttpProblem 409 chain-too-deep
 */
export function chainDepthOfJob(info: RequestInfo, maxDepth: number): number {
  const depth = info.chain === null ? 0 : chainDepth(info) + 1;
  if (depth > maxDepth)
    throw new HttpProblem("chain-too-deep", {
      detail: `More than ${maxDepth} jobs caused each other; this one would be the next.`,
    });
  return depth;
}
