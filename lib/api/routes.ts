import type { Permission } from "@/lib/contract";

export type RouteAccess = Permission | "open" | "signed-in" | "worker";
export type RouteMethod = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/**
 * Every route on disk, every method, and what it takes to use it. "open" needs no principal, "signed-in" any but a worker's key,
 * "worker" a worker's key and nothing else.
 * A test fails when a route file is missing here or the other way round; the front answers 404, 405 and OPTIONS from it.
 */
export const ROUTES: Readonly<Record<string, Readonly<Partial<Record<RouteMethod, RouteAccess>>>>> = {
  "/livez": { GET: "open" },
  "/readyz": { GET: "open" },
  "/api/auth/[...nextauth]": { GET: "open", POST: "open" },
  "/api/v1/openapi.json": { GET: "open" },
  "/api/v1/me": { GET: "signed-in" },
  "/api/v1/me/password": { POST: "signed-in" },
  "/api/v1/jobs": { GET: "jobs:read", POST: "jobs:create" },
  "/api/v1/jobs/bulk": { POST: "jobs:create" },
  "/api/v1/jobs/summary": { GET: "jobs:read" },
  "/api/v1/jobs/stream": { GET: "jobs:read" },
  "/api/v1/jobs/definitions": { GET: "definitions:read" },
  "/api/v1/jobs/queues": { GET: "definitions:read" },
  "/api/v1/jobs/actions": { GET: "jobs:read", POST: "jobs:update" },
  "/api/v1/jobs/actions/[actionId]": { GET: "jobs:read" },
  "/api/v1/jobs/actions/[actionId]/jobs": { GET: "jobs:read" },
  "/api/v1/jobs/actions/[actionId]/abort": { POST: "jobs:update" },
  "/api/v1/jobs/dead-letters": { GET: "jobs:read" },
  "/api/v1/jobs/dead-letters/[jobId]": { GET: "jobs:read", PATCH: "jobs:update" },
  "/api/v1/jobs/dead-letters/redrive": { POST: "jobs:retry" },
  "/api/v1/jobs/triggers": { GET: "triggers:read", POST: "triggers:write" },
  "/api/v1/jobs/triggers/preview": { POST: "triggers:read" },
  "/api/v1/jobs/triggers/[triggerId]": { GET: "triggers:read", PATCH: "triggers:write", DELETE: "triggers:write" },
  "/api/v1/jobs/triggers/[triggerId]/firings": { GET: "triggers:read" },
  "/api/v1/jobs/triggers/[triggerId]/run": { POST: "triggers:write" },
  "/api/v1/jobs/[jobId]": { GET: "jobs:read", PATCH: "jobs:update" },
  "/api/v1/jobs/[jobId]/pause": { POST: "jobs:update" },
  "/api/v1/jobs/[jobId]/resume": { POST: "jobs:update" },
  "/api/v1/jobs/[jobId]/cancel": { POST: "jobs:cancel" },
  "/api/v1/jobs/[jobId]/retry": { POST: "jobs:retry" },
  "/api/v1/jobs/[jobId]/dependencies": { GET: "jobs:read" },
  "/api/v1/jobs/[jobId]/attempts": { GET: "jobs:read" },
  "/api/v1/jobs/[jobId]/logs": { GET: "jobs:read" },
  "/api/v1/jobs/[jobId]/steps": { GET: "jobs:read" },
  "/api/v1/jobs/[jobId]/artifacts": { GET: "jobs:read" },
  "/api/v1/jobs/[jobId]/artifacts/[artifactId]": { GET: "jobs:read", DELETE: "jobs:update" },
  "/api/v1/webhooks": { GET: "webhooks:read", POST: "webhooks:write" },
  "/api/v1/webhooks/[endpointId]": { GET: "webhooks:read", PATCH: "webhooks:write", DELETE: "webhooks:write" },
  "/api/v1/webhooks/[endpointId]/rotate-secret": { POST: "webhooks:write" },
  "/api/v1/webhooks/[endpointId]/test": { POST: "webhooks:write" },
  "/api/v1/webhooks/[endpointId]/deliveries": { GET: "webhooks:read" },
  "/api/v1/webhooks/[endpointId]/deliveries/[deliveryId]/resend": { POST: "webhooks:write" },
  "/api/v1/jobs/triggers/test": { POST: "triggers:read" },
  "/api/v1/events": { GET: "events:read", POST: "events:publish" },
  "/api/v1/events/[eventId]": { GET: "events:read" },
  "/api/v1/events/[eventId]/replay": { POST: "events:publish" },
  "/api/v1/assets": { GET: "assets:read" },
  "/api/v1/lists": { GET: "assets:read" },
  "/api/v1/providers": { GET: "assets:read" },
  "/api/v1/worker/jobs/claim": { POST: "worker" },
  "/api/v1/worker/jobs/[jobId]/heartbeat": { POST: "worker" },
  "/api/v1/worker/jobs/[jobId]/complete": { POST: "worker" },
  "/api/v1/worker/jobs/[jobId]/fail": { POST: "worker" },
  "/api/v1/worker/jobs/[jobId]/artifacts": { PUT: "worker" },
  "/api/v1/worker/state": { POST: "worker" },
  "/api/v1/admin/worker-keys": { GET: "platform:worker-keys:read", POST: "platform:worker-keys:write" },
  "/api/v1/admin/worker-keys/[keyId]": { DELETE: "platform:worker-keys:write" },
  "/api/v1/admin/workers": { GET: "platform:workers:read" },
  "/api/v1/admin/providers": { GET: "platform:providers:read", POST: "platform:providers:write" },
  "/api/v1/admin/queues": { GET: "platform:queues:read", POST: "platform:queues:write" },
  "/api/v1/admin/queues/[queueId]": { PATCH: "platform:queues:write" },
  "/api/v1/admin/tenants": { GET: "platform:tenants:read" },
  "/api/v1/admin/tenants/[tenantId]": { PATCH: "platform:tenants:write" },
  "/api/v1/admin/limits": { GET: "platform:queues:read", POST: "platform:queues:write" },
  "/api/v1/admin/limits/[limitId]": { PATCH: "platform:queues:write", DELETE: "platform:queues:write" },
  "/api/v1/admin/pause": { GET: "platform:queues:read", POST: "platform:queues:write" },
  "/api/v1/admin/pause/[pauseId]": { DELETE: "platform:queues:write" },
  "/api/v1/admin/jobs/definitions": { GET: "platform:definitions:read", POST: "platform:definitions:write" },
  "/api/v1/admin/jobs/definitions/[definitionId]": { PATCH: "platform:definitions:write" },
};

interface CompiledRoute {
  readonly pattern: RegExp;
  readonly methods: readonly string[];
}

const COMPILED: readonly CompiledRoute[] = Object.entries(ROUTES)
  .sort(([left], [right]) => dynamicParts(left) - dynamicParts(right))
  .map(([path, methods]) => ({ pattern: compile(path), methods: Object.keys(methods) }));

/** The methods that a path takes (HEAD and OPTIONS with them); null when no route has this path. */
export function allowedMethods(pathname: string): string[] | null {
  const route = COMPILED.find((candidate) => candidate.pattern.test(pathname));
  if (!route) return null;
  const heads = route.methods.includes("GET") ? ["HEAD"] : [];
  return [...route.methods, ...heads, "OPTIONS"];
}

function compile(path: string): RegExp {
  const source = path
    .split("/")
    .map((part) => (part.startsWith("[...") ? ".+" : part.startsWith("[") ? "[^/]+" : part.replaceAll(".", "\\.")))
    .join("/");
  return new RegExp(`^${source}$`);
}

function dynamicParts(path: string): number {
  return path.split("[").length;
}
