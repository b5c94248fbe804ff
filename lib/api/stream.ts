import { LIMITS, streamQuery } from "@/lib/contract";
import { eventStream } from "@/lib/web/event-stream";
import { requireTenant } from "./authorize";
import { parseQuery } from "./input";
import { HttpProblem } from "./problem";
import { identify } from "./route";
import { shutdownSignal } from "./runtime";
import { guarded, type RouteHandler } from "./serve";
import { getHub } from "./stream-source";

const RECHECK_MS = 60_000;
const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "private, no-store",
  "x-accel-buffering": "no",
};

const openStreams = new Map<string, number>();

/** The tenant's changes as they happen; the client comes back by itself when the stream ends after ten minutes. */
export const jobStream: RouteHandler = guarded(serve, {
  access: "jobs:read",
  summary: "Follow the tenant's jobs (server-sent events)",
  query: streamQuery,
  mediaType: "text/event-stream",
});

async function serve(request: Request): Promise<Response> {
  const { tenantId, userId, requestId } = await authorize(request);
  const headers = { ...HEADERS, "x-request-id": requestId };
  if (request.method === "HEAD") return new Response(null, { headers });
  if (shutdownSignal().aborted) throw new HttpProblem("unavailable", { headers: { "retry-after": "2" } });
  // Who left while the database was asked would never be heard of again, and would keep a place.
  if (request.signal.aborted) return new Response(null, { headers });
  takePlace(userId);
  const cleanUp: (() => void)[] = [() => leavePlace(userId)];
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
  every(RECHECK_MS, () => void recheck(request, tenantId, stream.end));
  endOn(request.signal, "client");
  endOn(shutdownSignal(), "shutdown");
  cleanUp.push(getHub().subscribe(tenantId, stream.send));
  return new Response(stream.body, { headers });
}

async function authorize(request: Request): Promise<{ tenantId: string; userId: string; requestId: string }> {
  const { runtime, principal, info } = await identify(request);
  const query = parseQuery(streamQuery, info.search);
  const named = request.headers.get("x-tenant-id") ?? query.tenant ?? null;
  const place = await requireTenant(runtime, { principal, info, named }, ["jobs:read"]);
  return { tenantId: place.tenant.id, userId: principal.user.id, requestId: info.id };
}

// A database that cannot be asked is no reason to end the stream; a right that is gone is.
async function recheck(request: Request, tenantId: string, end: (reason: string) => void): Promise<void> {
  try {
    if ((await authorize(request)).tenantId !== tenantId) end("access");
  } catch (error) {
    if (error instanceof HttpProblem) end("access");
  }
}

function takePlace(userId: string): void {
  const open = openStreams.get(userId) ?? 0;
  if (open >= LIMITS.streamsPerUser) {
    throw new HttpProblem("too-many-streams", {
      detail: `At most ${LIMITS.streamsPerUser} streams at once; close a tab.`,
      headers: { "retry-after": "5" },
    });
  }
  openStreams.set(userId, open + 1);
}

function leavePlace(userId: string): void {
  const left = (openStreams.get(userId) ?? 1) - 1;
  if (left > 0) openStreams.set(userId, left);
  else openStreams.delete(userId);
}
