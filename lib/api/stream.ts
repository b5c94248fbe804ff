import { cookieNames, cookieValues } from "@/lib/auth/cookies";
import { BACKGROUND_HEADER, type Principal } from "@/lib/auth/principal";
import { sessionHash } from "@/lib/auth/session";
import { LIMITS, streamQuery } from "@/lib/contract";
import type { Watched } from "@/lib/web/access-watch";
import { eventStream } from "@/lib/web/event-stream";
import { getAccessWatch } from "./access-source";
import { requireTenant } from "./authorize";
import { parseQuery } from "./input";
import { HttpProblem } from "./problem";
import { identify } from "./route";
import { getRuntime, shutdownSignal } from "./runtime";
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
  const { tenantId, principal, requestId } = await authorize(request);
  const holder = holderOf(principal);
  const headers = { ...HEADERS, "x-request-id": requestId };
  if (request.method === "HEAD") return new Response(null, { headers });
  if (shutdownSignal().aborted) throw new HttpProblem("unavailable", { headers: { "retry-after": "2" } });
  // Who left while the database was asked would never be heard of again, and would keep a place.
  if (request.signal.aborted) return new Response(null, { headers });
  takePlace(holder);
  const cleanUp: (() => void)[] = [() => leavePlace(holder)];
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
  every(RECHECK_MS, () => void recheck().catch(() => {}));
  endOn(request.signal, "client");
  endOn(shutdownSignal(), "shutdown");
  cleanUp.push(getAccessWatch().add({ ...credentialOf(request, principal), userId: principal.user.id, recheck }));
  cleanUp.push(getHub().subscribe(tenantId, stream.send));
  return new Response(stream.body, { headers });
}

// An open page is not a person who uses it.
async function authorize(request: Request): Promise<{ tenantId: string; principal: Principal; requestId: string }> {
  const headers = new Headers(request.headers);
  headers.set(BACKGROUND_HEADER, "1");
  const { runtime, principal, info } = await identify({ url: request.url, method: request.method, headers });
  const query = parseQuery(streamQuery, info.search);
  const named = request.headers.get("x-tenant-id") ?? query.tenant ?? null;
  const place = await requireTenant(runtime, { principal, info, named }, ["jobs:read"]);
  return { tenantId: place.tenant.id, principal, requestId: info.id };
}

// A database that cannot be asked is no reason to end the stream; a right that is gone is.
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

// A key has streams of its own: a program must not shut its maker out of the pages.
const holderOf = (principal: Principal): string =>
  principal.kind === "api_key" ? `key:${principal.key.id}` : `user:${principal.user.id}`;

function takePlace(holder: string): void {
  const open = openStreams.get(holder) ?? 0;
  if (open >= LIMITS.streamsPerUser) {
    throw new HttpProblem("too-many-streams", {
      detail: `At most ${LIMITS.streamsPerUser} streams at once; close a tab.`,
      headers: { "retry-after": "5" },
    });
  }
  openStreams.set(holder, open + 1);
}

function leavePlace(holder: string): void {
  const left = (openStreams.get(holder) ?? 1) - 1;
  if (left > 0) openStreams.set(holder, left);
  else openStreams.delete(holder);
}
