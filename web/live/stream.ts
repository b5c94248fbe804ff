/**
 * Live updates: the event stream of jobs and the long polls of remote workers. Start with `jobStream`.
 *
 * `StreamHub` reads a tenant's changes once for all its streams, `WorkHub` wakes waiting claims, and `AccessWatch` ends
 * a stream within two seconds after its access was revoked. Wake-ups are hints: each reader also polls, so a lost
 * wake-up only delays an update.
 */

import { parseQuery } from "@/lib/api/http/input";
import { HttpProblem } from "@/lib/api/http/problem";
import { guarded, type RouteHandler } from "@/lib/api/http/serve";
import { shutdownSignal } from "@/lib/api/runtime";
import { CountedSlots } from "@/lib/async/slots";
import type { Principal } from "@/lib/auth/principal";
import { LIMITS, streamQuery } from "@/lib/contract";
import { eventStream } from "@/web/live/event-stream";
import { getHub } from "./stream-source";
import { asBackground, authorizeReader, watchAccess } from "./watch-access";

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "private, no-store",
  "x-accel-buffering": "no",
};

const tenantOf = (search: string) => parseQuery(streamQuery, search).tenant;
const openStreams = new CountedSlots(LIMITS.streamsPerCaller);

/** Streams a tenant's changes as they happen. The stream ends after ten minutes, and the client reconnects. */
export const jobStream: RouteHandler = guarded(serve, {
  access: "jobs:read",
  summary: "Follow the tenant's jobs (server-sent events)",
  query: streamQuery,
  mediaType: "text/event-stream",
});

async function serve(request: Request): Promise<Response> {
  // Authorised as a background request, because an open stream is not activity of its user.
  const reader = await authorizeReader(asBackground(request), tenantOf);
  const headers = { ...HEADERS, "x-request-id": reader.info.id };
  if (request.method === "HEAD") return new Response(null, { headers });
  if (shutdownSignal().aborted) throw new HttpProblem("unavailable", { headers: { "retry-after": "2" } });
  // A client that left during authorisation never aborts again, so its slot would stay taken.
  if (request.signal.aborted) return new Response(null, { headers });
  const cleanUp: (() => void)[] = [takeSlot(reader.principal)];
  const stream = eventStream(() => {
    for (const undo of cleanUp) undo();
  });
  const every = (ms: number, work: () => void) => {
    const timer = setInterval(work, ms);
    cleanUp.push(() => clearInterval(timer));
  };
  const endOn = (signal: AbortSignal, reason: string) => {
    const end = () => stream.end(reason);
    signal.addEventListener("abort", end, { once: true });
    cleanUp.push(() => signal.removeEventListener("abort", end));
  };
  every(LIMITS.heartbeatSeconds * 1000, stream.heartbeat);
  every(LIMITS.streamSeconds * 1000, () => stream.end("time"));
  endOn(request.signal, "client");
  endOn(shutdownSignal(), "shutdown");
  cleanUp.push(watchAccess(request, reader, { tenantOf, end: () => stream.end("access") }));
  cleanUp.push(getHub().subscribe(reader.tenantId, stream.send));
  return new Response(stream.body, { headers });
}

// An API key has its own slots, so that a program does not lock its owner out of the pages.
function takeSlot(principal: Principal): () => void {
  const caller = principal.kind === "api_key" ? `key:${principal.key.id}` : `user:${principal.user.id}`;
  const release = openStreams.take(caller);
  if (release) return release;
  throw new HttpProblem("too-many-streams", {
    detail: `At most ${LIMITS.streamsPerCaller} streams can be open. Close one first.`,
    headers: { "retry-after": "5" },
  });
}
