import { cookieNames, cookieValues } from "@/lib/auth/cookies";
import type { Principal } from "@/lib/auth/principal";
import { sessionHash } from "@/lib/auth/session";
import { LIMITS, streamQuery } from "@/lib/contract";
import { BACKGROUND_HEADER } from "@/lib/contract/background";
import type { Watched } from "@/lib/web/access-watch";
import { eventStream } from "@/lib/web/event-stream";
import { getAccessWatch } from "./access-source";
import { requireTenant } from "./authorize";
import { parseQuery } from "./input";
import { HttpProblem } from "./problem";
import { identify } from "./route";
import { getRuntime, shutdownSignal } from "./runtime";
import { guarded, type RouteHandler } from "./serve";
import { Slots } from "./slots";
import { getHub } from "./stream-source";

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "private, no-store",
  "x-accel-buffering": "no",
};

const openStreams = new Slots(LIMITS.streamsPerCaller);

/** The tenant's changes as they happen; the client comes back by itself when the stream ends after ten minutes. */
export const jobStream: RouteHandler = guarded(serve, {
  access: "jobs:read",
  summary: "Follow the tenant's jobs (server-sent events)",
  query: streamQuery,
  mediaType: "text/event-stream",
});

async function serve(request: Request): Promise<Response> {
  const { tenantId, principal, requestId } = await authorize(request);
  const headers = { ...HEADERS, "x-request-id": requestId };
  if (request.method === "HEAD") return new Response(null, { headers });
  if (shutdownSignal().aborted) throw new HttpProblem("unavailable", { headers: { "retry-after": "2" } });
  // A client that left during authorisation never aborts again, so its slot would stay taken.
  if (request.signal.aborted) return new Response(null, { headers });
  const cleanUp: (() => void)[] = [takeSlot(principal)];
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
  const recheck = () => endWithoutAccess(request, tenantId, stream.end);
  endOn(request.signal, "client");
  endOn(shutdownSignal(), "shutdown");
  cleanUp.push(getAccessWatch().add({ ...credentialOf(request, principal), userId: principal.user.id, recheck }));
  cleanUp.push(getHub().subscribe(tenantId, stream.send));
  return new Response(stream.body, { headers });
}

// As a request of the page itself: an open stream is not a use by its person.
async function authorize(request: Request): Promise<{ tenantId: string; principal: Principal; requestId: string }> {
  const headers = new Headers(request.headers);
  headers.set(BACKGROUND_HEADER, "1");
  const { runtime, principal, info } = await identify({ url: request.url, method: request.method, headers });
  const query = parseQuery(streamQuery, info.search);
  const named = request.headers.get("x-tenant-id") ?? query.tenant ?? null;
  const place = await requireTenant(runtime, { principal, info, named }, ["jobs:read"]);
  return { tenantId: place.tenant.id, principal, requestId: info.id };
}

/** Ends the stream if the right to it is gone. Rejects if the database cannot be asked: that is no reason to end it. */
async function endWithoutAccess(request: Request, tenantId: string, end: (reason: string) => void): Promise<void> {
  try {
    if ((await authorize(request)).tenantId !== tenantId) end("access");
  } catch (error) {
    if (!(error instanceof HttpProblem) || error.status >= 500) throw error;
    end("access");
  }
}

function credentialOf({ headers }: Request, principal: Principal): Pick<Watched, "kind" | "credential"> {
  if (principal.kind === "api_key") return { kind: "key", credential: principal.key.id };
  const [sessionId = ""] = cookieValues(headers.get("cookie"), cookieNames(getRuntime().config.origin).session);
  return { kind: "session", credential: sessionHash(sessionId).toString("hex") };
}

// A key has streams of its own, so that a program does not shut its maker out of the pages.
function takeSlot(principal: Principal): () => void {
  const caller = principal.kind === "api_key" ? `key:${principal.key.id}` : `user:${principal.user.id}`;
  const release = openStreams.take(caller);
  if (release) return release;
  throw new HttpProblem("too-many-streams", {
    detail: `At most ${LIMITS.streamsPerCaller} streams at once; close one first.`,
    headers: { "retry-after": "5" },
  });
}
