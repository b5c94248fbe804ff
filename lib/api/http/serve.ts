/*
 * HTTP without the domain: reading and checking input, cursors, ETags, problem+json, and answers. Bodies are limited in
 * size and time, long work is divided into turns, and no answer quotes a value from the request in an error.
 *
 * Start with `guarded` below, then `input.ts` (requests), `respond.ts` (answers) and `errors.ts` (which error answers
 * what).
 */

import type * as z from "zod";
import { type StartedWork, startWork } from "@/lib/async/abandon";
import { withDeadline } from "@/lib/async/deadline";
import { isUnavailable } from "@/lib/db";
import type { RouteAccess } from "../routes";
import { getRuntime } from "../runtime";
import { toHttpProblem } from "./errors";
import { HttpProblem } from "./problem";
import { requestInfo } from "./request-info";
import { internalError, problemResponse } from "./respond";

/** What Next passes to a route beside the request. */
export interface NextContext {
  readonly params: Promise<unknown>;
}

/** A route's declaration, as documentation and tests read it. */
export interface RouteDeclaration {
  readonly access: RouteAccess;
  readonly summary: string;
  /** Refused to API keys, whatever their scopes. */
  readonly sessionOnly?: boolean;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  readonly response?: z.ZodType;
  /** The answer carries a strong ETag, and a change takes If-Match. */
  readonly etag?: boolean;
  readonly chained?: boolean;
  readonly status?: number;
  /** What is refused with 429, if anything. */
  readonly tooMany?: string;
  /** Media type of the body if not JSON. */
  readonly bodyMediaType?: string;
  /** Media type of the answer if not JSON. */
  readonly mediaType?: string;
}

export interface RouteHandler {
  (request: Request, context: NextContext): Promise<Response>;
  readonly declaration: RouteDeclaration;
}

// The pools give up on connecting sooner. This limit is for a server that accepted a connection and then falls silent.
export const ANSWER_WITHIN_MS = 4500;

/**
 * Guards a route: every thrown error becomes problem+json, and no silent database keeps a client waiting beyond the
 * deadline. Work that is late is abandoned: it ends, and its transaction rolls back, as soon as it waits for a turn of
 * the event loop.
 */
export function guarded(
  serve: (request: Request, context: NextContext) => Promise<Response>,
  declaration: RouteDeclaration,
  answerWithinMs: number = ANSWER_WITHIN_MS,
): RouteHandler {
  const handler = async (request: Request, context: NextContext): Promise<Response> => {
    try {
      return await answerWithin(
        answerWithinMs,
        startWork(() => serve(request, context)),
      );
    } catch (error) {
      return failure(error, request);
    }
  };
  return Object.assign(handler, { declaration });
}

const answerWithin = (ms: number, { result, abandon }: StartedWork<Response>): Promise<Response> =>
  withDeadline(result, ms, () => {
    // A late answer has no reader, so its stream is canceled.
    result.then((answer) => answer.body?.cancel()).catch(() => undefined);
    const late = new HttpProblem("unavailable", {
      detail: "The answer took too long.",
      headers: { "retry-after": "2" },
    });
    abandon(late);
    throw late;
  });

function failure(error: unknown, request: Request): Response {
  const info = requestInfo(request);
  const problem = toHttpProblem(error) ?? internalError();
  const fields = { request_id: info.id, ip: info.ip, method: info.method, path: info.path };
  if (problem.code === "internal-error")
    getRuntime().log.error({ ...fields, error: describe(error) }, "request failed");
  else if (isUnavailable(error)) getRuntime().log.warn(fields, "database not available");
  return problemResponse(problem, info.path, info.id);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
