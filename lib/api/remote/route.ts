/*
 * The routes of remote workers: claim, heartbeat, artifacts, and the ends of attempts. A key reaches only jobs in its
 * scope, and only leases that were handed out to it.
 *
 * Start with `workerRoute` below, then `claim.ts`, `hand-out.ts`, `heartbeat.ts` and `end.ts`.
 */

import type * as z from "zod";
import { releaseHeld } from "@/lib/async/abandon";
import { type Database, runInLine } from "@/lib/db";
import { requireWorkerKey, type WorkerKeyPrincipal } from "../authorize";
import { parseBody, parseParams, parseQuery, readCapturedJson } from "../http/input";
import { HttpProblem } from "../http/problem";
import { answerText, jsonResponse } from "../http/respond";
import { ANSWER_WITHIN_MS, guarded, type NextContext, type RouteHandler } from "../http/serve";
import { authenticate, NOTHING, type RouteSpec } from "../route";
import type { ApiRuntime } from "../runtime";

/** The context of a remote worker route's handler. */
export interface WorkerContext<P, B> {
  readonly params: P;
  readonly body: B;
  readonly key: WorkerKeyPrincipal;
  /** Prefix of the worker ids of this key, unique to the key. */
  readonly holder: string;
  /**
   * Sees all tenants. The handler must restrict it to the key's scope and to the jobs in flight at the key's workers.
   */
  readonly db: Database;
  readonly runtime: ApiRuntime;
  /** What reading the body changed, such as numbers that became texts. */
  readonly changes: readonly string[];
  /** Aborted when the client disconnects before it has the whole answer. */
  readonly signal: AbortSignal;
  /** Throws once the key is no longer valid. */
  recheck(): Promise<void>;
}

interface WorkerSpec<P, B, R> extends RouteSpec<P, unknown, B, R> {
  handler(context: WorkerContext<P, B>): Promise<R>;
  readonly answerWithinMs?: number;
}

/** Makes a route for remote workers. Accepts only a worker's key: no session, no tenant, no other key. */
export function workerRoute<P, B, R>(spec: WorkerSpec<P, B, R>): RouteHandler {
  const serve = async (request: Request, context: NextContext): Promise<Response> => {
    const { runtime, info, key } = await authorizeWorker(request);
    const params = parseParams((spec.params ?? NOTHING) as z.ZodType<P>, (await context.params) ?? {});
    parseQuery(NOTHING, info.search);
    const changes: string[] = [];
    const sent = await runInLine(key.id, () => readCapturedJson(request, (change) => changes.push(change)));
    const body = parseBody((spec.body ?? NOTHING) as z.ZodType<B>, sent);
    // A route with a time limit of its own may wait. Its small value then no longer counts as a long body.
    if (spec.answerWithinMs !== undefined) releaseHeld();
    const own: WorkerContext<P, B> = {
      params,
      body,
      changes,
      key,
      holder: holderOf(key),
      db: runtime.worker,
      runtime,
      signal: request.signal,
      recheck: async () => void (await authorizeWorker(request)),
    };
    const answer = await runInLine(key.id, () => spec.handler(own));
    return jsonResponse(await answerText(spec.response, answer), 200, { "x-request-id": info.id });
  };
  return guarded(serve, { ...spec, access: "worker" }, spec.answerWithinMs ?? ANSWER_WITHIN_MS);
}

/** Authenticates a worker's key and refuses every other caller. */
export async function authorizeWorker(request: Request) {
  const common = await authenticate(request);
  return { ...common, key: await requireWorkerKey(common.runtime, common) };
}

/** Returns the prefix of the worker ids of a key. */
export const holderOf = ({ id }: WorkerKeyPrincipal): string => `remote:${id}:`;

/** The answer to a write under a lease that has ended, was taken over, or belongs to another worker. */
export function leaseLost(
  detail = "The lease expired or belongs to another worker. Nothing was written.",
): HttpProblem {
  return new HttpProblem("lease-lost", { detail });
}
