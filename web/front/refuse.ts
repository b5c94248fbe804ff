import type { ServerResponse } from "node:http";
import { HttpProblem, problemBody } from "@/lib/api/http/problem";
import type { ProblemCode } from "@/lib/contract";

export interface HttpRefusal {
  readonly code: ProblemCode;
  readonly instance: string;
  readonly requestId: string;
  /** Default: the text of the code. */
  readonly detail?: string;
  readonly headers?: Record<string, string>;
}

/** Answers a refused request with problem+json. A no-op once the answer has begun. */
export function refuse(res: ServerResponse, { code, instance, requestId, detail, headers = {} }: HttpRefusal): void {
  if (res.headersSent || res.destroyed) return;
  const problem = new HttpProblem(code, detail === undefined ? {} : { detail });
  const body = JSON.stringify(problemBody(problem, instance, requestId));
  res.writeHead(problem.status, {
    "content-type": "application/problem+json",
    "content-length": Buffer.byteLength(body),
    "cache-control": "private, no-store",
    "x-request-id": requestId,
    ...headers,
  });
  res.end(res.req.method === "HEAD" ? undefined : body);
}
