import type * as z from "zod";
import type { Permission } from "@/lib/contract";
import { cutAnswer } from "@/lib/contract/shown";
import { isTestBuild } from "@/lib/env/test-build";
import { HttpProblem, problemBody } from "./problem";

const NEVER_STORED = { "cache-control": "private, no-store" };

/** What a handler answers when the body alone does not say it all. */
export class Reply<T> {
  constructor(
    readonly body: T,
    readonly options: { status?: number; headers?: Record<string, string> } = {},
  ) {}
}

/**
 * Returns the text of an answer, cut to what a caller who holds these permissions may see; uncut if no permissions are given.
 * A test build refuses to send what the schema does not describe.
 */
export function answerText(schema: z.ZodType, body: unknown, held?: ReadonlySet<Permission>): string {
  if (isTestBuild) {
    const checked = schema.safeParse(body);
    if (!checked.success) throw new Error(`the answer does not fit its schema: ${checked.error.message}`);
  }
  return JSON.stringify(held ? cutAnswer(schema, body, held) : body);
}

export function jsonResponse(text: string, status: number, headers: Record<string, string>): Response {
  return new Response(text, { status, headers: { "content-type": "application/json", ...NEVER_STORED, ...headers } });
}

/** An error answer; never more than the problem itself says. */
export function problemResponse(problem: HttpProblem, instance: string, requestId: string): Response {
  const challenge: Record<string, string> =
    problem.status === 401 ? { "www-authenticate": 'Bearer realm="leasehold"' } : {};
  return new Response(JSON.stringify(problemBody(problem, instance, requestId)), {
    status: problem.status,
    headers: {
      "content-type": "application/problem+json",
      ...NEVER_STORED,
      "x-request-id": requestId,
      ...challenge,
      ...problem.headers,
    },
  });
}

export function internalError(): HttpProblem {
  return new HttpProblem("internal-error", { detail: "Quote the request id when you report this." });
}
