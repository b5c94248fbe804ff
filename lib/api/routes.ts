import type { Permission, TenantPermission } from "@/lib/contract";

export type RouteAccess = Permission | "open" | "signed-in" | "worker";
export type RouteMethod = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/** The permissions that a route needs. The route wrappers check them, so handlers need not. */
export interface RouteRule {
  /**
   * "open" needs no principal, "signed-in" any principal but a worker's key, "worker" a worker's key and nothing else.
   */
  readonly access: RouteAccess;
  /** Also needed by every request. */
  readonly also?: readonly TenantPermission[];
  /** Also needed by some requests, depending on the body and the definitions that it names. */
  readonly sometimes?: readonly TenantPermission[];
}

/** For using another job's result, changing the job that holds a dedupe key, and starting a signed message. */
const ENQUEUES: readonly TenantPermission[] = ["jobs:read", "jobs:update", "webhooks:write"];
/** A trigger starts jobs for the user or key that saved it. */
const STARTS_BY_TRIGGER: RouteRule = {
  access: "triggers:write",
  also: ["jobs:create"],
  sometimes: ["webhooks:write"],
};

/** Conditions and templates on `job.*` events read what jobs returned. */
const SAVES_TRIGGER: RouteRule = { ...STARTS_BY_TRIGGER, sometimes: ["jobs:read", "webhooks:write"] };

const TABLE: Readonly<Record<string, Readonly<Partial<Record<RouteMethod, RouteAccess | RouteRule>>>>> = {
  "/livez": { GET: "open" },
  "/readyz": { GET: "open" },
  "/api/auth/[...nextauth]": { GET: "open", POST: "open" },
  "/api/v1/openapi.json": { GET: "open" },
  "/api/v1/me": { GET: "signed-in" },
  "/api/v1/me/password": { POST: "signed-in" },
  "/api/v1/jobs": { GET: "jobs:read", POST: { access: "jobs:create", sometimes: ENQUEUES } },
  "/api/v1/jobs/bulk": { POST: { access: "jobs:create", sometimes: ENQUEUES } },
  "/api/v1/jobs/summary": { GET: "jobs:read" },
  "/api/v1/jobs/stream": { GET: "jobs:read" },
  "/api/v1/jobs/definitions": { GET: "definitions:read" },
  "/api/v1/jobs/queues": { GET: "definitions:read" },
  "/api/v1/jobs/actions": {
    GET: "jobs:read",
    POST: {
      access: "jobs:update",
      sometimes: ["jobs:read", "jobs:update", "jobs:cancel", "jobs:retry", "jobs:create"],
    },
  },
  "/api/v1/jobs/actions/[actionId]": { GET: "jobs:read" },
  "/api/v1/jobs/actions/[actionId]/jobs": { GET: "jobs:read" },
  "/api/v1/jobs/actions/[actionId]/abort": { POST: "jobs:update" },
  "/api/v1/jobs/dead-letters": { GET: "jobs:read" },
  "/api/v1/jobs/dead-letters/[jobId]": { GET: "jobs:read", PATCH: "jobs:update" },
  "/api/v1/jobs/dead-letters/redrive": {
    POST: { access: "jobs:retry", also: ["jobs:create"], sometimes: ["jobs:read", "webhooks:write"] },
  },
  "/api/v1/jobs/triggers": { GET: "triggers:read", POST: SAVES_TRIGGER },
  "/api/v1/jobs/triggers/preview": { POST: "triggers:read" },
  "/api/v1/jobs/triggers/[triggerId]": { GET: "triggers:read", PATCH: SAVES_TRIGGER, DELETE: "triggers:write" },
  "/api/v1/jobs/triggers/[triggerId]/firings": { GET: "triggers:read" },
  "/api/v1/jobs/triggers/[triggerId]/run": { POST: STARTS_BY_TRIGGER },
  "/api/v1/jobs/[jobId]": { GET: "jobs:read", PATCH: "jobs:update" },
  "/api/v1/jobs/[jobId]/pause": { POST: "jobs:update" },
  "/api/v1/jobs/[jobId]/resume": { POST: "jobs:update" },
  "/api/v1/jobs/[jobId]/cancel": { POST: "jobs:cancel" },
  "/api/v1/jobs/[jobId]/retry": {
    POST: { access: "jobs:retry", also: ["jobs:create"], sometimes: ["webhooks:write"] },
  },
  "/api/v1/jobs/[jobId]/dependencies": { GET: "jobs:read" },
  "/api/v1/jobs/[jobId]/attempts": { GET: "jobs:read" },
  "/api/v1/jobs/[jobId]/logs": { GET: "jobs:read" },
  "/api/v1/jobs/[jobId]/steps": { GET: "jobs:read" },
  "/api/v1/jobs/[jobId]/artifacts": { GET: "jobs:read" },
  "/api/v1/jobs/[jobId]/artifacts/[artifactId]": { GET: "jobs:read", DELETE: "jobs:update" },
  "/api/v1/webhooks": { GET: "webhooks:read", POST: "webhooks:write" },
  "/api/v1/webhooks/[endpointId]": { GET: "webhooks:read", PATCH: "webhooks:write", DELETE: "webhooks:write" },
  "/api/v1/webhooks/[endpointId]/rotate-secret": { POST: "webhooks:write" },
  "/api/v1/webhooks/[endpointId]/test": { POST: { access: "webhooks:write", also: ["jobs:create"] } },
  "/api/v1/webhooks/[endpointId]/deliveries": { GET: "webhooks:read" },
  "/api/v1/webhooks/[endpointId]/deliveries/[deliveryId]/resend": {
    POST: { access: "webhooks:write", also: ["jobs:create"] },
  },
  "/api/v1/jobs/triggers/test": { POST: { access: "triggers:read", sometimes: ["events:read", "jobs:read"] } },
  "/api/v1/events": { GET: "events:read", POST: { access: "events:publish", also: ["jobs:create"] } },
  "/api/v1/events/[eventId]": { GET: "events:read" },
  "/api/v1/events/[eventId]/replay": { POST: { access: "events:publish", also: ["jobs:create"] } },
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

/**
 * Every route on disk, its methods, and the permissions that each needs. A test fails when a route file is missing here
 * or a row has no file. The front answers 404, 405 and OPTIONS from this table.
 */
export const ROUTES: Readonly<Record<string, Readonly<Partial<Record<RouteMethod, RouteRule>>>>> = Object.fromEntries(
  Object.entries(TABLE).map(([path, methods]) => [
    path,
    Object.fromEntries(
      Object.entries(methods).map(([method, row]) => [method, typeof row === "string" ? { access: row } : row]),
    ),
  ]),
);

interface CompiledRoute {
  readonly pattern: RegExp;
  readonly rules: Readonly<Partial<Record<RouteMethod, RouteRule>>>;
}

const COMPILED: readonly CompiledRoute[] = Object.entries(ROUTES)
  .sort(([left], [right]) => dynamicParts(left) - dynamicParts(right))
  .map(([path, rules]) => ({ pattern: compile(path), rules }));

/** Returns the methods that a path allows, with HEAD and OPTIONS; null when no route has this path. */
export function allowedMethods(pathname: string): string[] | null {
  const route = routeOf(pathname);
  if (!route) return null;
  const heads = route.rules.GET ? ["HEAD"] : [];
  return [...Object.keys(route.rules), ...heads, "OPTIONS"];
}

/** Returns the rule for a request of this method to this path. @throws Error if there is no such route */
export function routeRuleOf(method: string, pathname: string): RouteRule {
  const rule = routeOf(pathname)?.rules[(method === "HEAD" ? "GET" : method) as RouteMethod];
  if (!rule) throw new Error(`no rule for ${method} ${pathname}`);
  return rule;
}

const routeOf = (pathname: string): CompiledRoute | undefined =>
  COMPILED.find((candidate) => candidate.pattern.test(pathname));

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
