import { BoundedMap } from "@/lib/async/bounded-map";
import { writeAudit } from "@/lib/auth/audit";
import { getPrincipal, type Principal } from "@/lib/auth/principal";
import { isSameOrigin } from "@/lib/auth/same-origin";
import type { PlatformPermission, TenantPermission } from "@/lib/contract";
import { platformPermissions, roleAllows, scopesFor } from "@/lib/tenancy/permissions";
import { resolveTenant, type TenantMembership } from "@/lib/tenancy/resolve";
import { HttpProblem, notFound } from "./http/problem";
import type { RequestHead, RequestInfo } from "./http/request-info";
import type { ApiRuntime } from "./runtime";

/** The paths that a user with a one-time password may use. */
const BEFORE_PASSWORD_CHANGE = new Set(["/api/v1/me", "/api/v1/me/password"]);
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);
const KEY_IN_URL = /lhk_(?:live|test)_/i;
const KEY_PARAMETERS = ["api_key", "apikey", "api-key", "access_token"];
const SUPER_ADMIN_READ_AUDIT_MS = 10 * 60_000;

/** Refuses API keys in the query string, where logs and histories would keep them. */
export async function refuseKeyInUrl(runtime: ApiRuntime, info: RequestInfo): Promise<void> {
  const names = [...new URLSearchParams(info.search).keys()].map((name) => name.toLowerCase());
  if (!KEY_IN_URL.test(safeDecode(info.search)) && !names.some((name) => KEY_PARAMETERS.includes(name))) return;
  await audit(runtime, info, { action: "api_key.in_url", severity: "high", actorKind: "anonymous" });
  throw new HttpProblem("credentials-in-url");
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Authenticates. 401 without a valid principal; 403 for a change with a session cookie that did not come from our
 * pages.
 */
export async function requirePrincipal(
  runtime: ApiRuntime,
  request: RequestHead,
  info: RequestInfo,
): Promise<Principal> {
  const principal = await getPrincipal(request.headers, { db: runtime.auth, origin: runtime.config.origin }, info.ip);
  if (!principal) {
    if (request.headers.has("authorization"))
      await audit(runtime, info, { action: "api_key.rejected", severity: "medium", actorKind: "anonymous" });
    throw new HttpProblem("unauthenticated");
  }
  if (principal.kind === "user" && !SAFE_METHODS.has(request.method)) {
    if (!isSameOrigin(request.headers, runtime.config.origin)) {
      await auditDenial(runtime, { info, principal }, { reason: "cross-site-request" });
      throw new HttpProblem("cross-site-request");
    }
  }
  // Applies to sessions only, because an API key keeps working with its creator's rights.
  if (principal.kind === "user" && principal.user.mustChangePassword && !BEFORE_PASSWORD_CHANGE.has(info.path)) {
    throw new HttpProblem("password-change-required");
  }
  return principal;
}

/** Refuses workers' keys, which are valid on the worker routes only. */
export async function refuseWorkerKey(
  runtime: ApiRuntime,
  caller: { principal: Principal; info: RequestInfo },
): Promise<void> {
  if (caller.principal.kind !== "api_key" || caller.principal.key.kind !== "worker") return;
  await auditDenial(runtime, caller, { reason: "worker-key" });
  throw new HttpProblem("forbidden", { detail: "A worker key is valid for the routes under /api/v1/worker only." });
}

/** What a worker reports about jobs in flight. Refusing an end would only make the job run again later. */
const ENDS_WORK = /^\/api\/v1\/worker\/(?:state|jobs\/[^/]+\/(?:heartbeat|complete|fail|artifacts))$/;

/**
 * Refuses every caller but a worker's key whose creator is a super admin at present; returns the key. A key of a
 * suspended tenant may end the jobs in flight, but claims no new ones.
 */
export async function requireWorkerKey(
  runtime: ApiRuntime,
  caller: { principal: Principal; info: RequestInfo },
): Promise<WorkerKeyPrincipal> {
  const { principal } = caller;
  if (principal.kind === "api_key" && principal.user.isSuperAdmin && principal.key.kind === "worker") {
    const { id, claims, tenant } = principal.key;
    if (tenant?.status === "suspended" && !ENDS_WORK.test(caller.info.path)) throw suspended();
    if (claims) return { id, definitions: claims.definitions, queues: claims.queues, tenantId: tenant?.id ?? null };
  }
  await auditDenial(runtime, caller, { reason: "worker" });
  throw new HttpProblem("forbidden", { detail: "This route requires a worker key." });
}

/** The fields of a worker's key that its routes use. */
export interface WorkerKeyPrincipal {
  readonly id: string;
  readonly definitions: readonly string[];
  readonly queues: readonly string[] | null;
  readonly tenantId: string | null;
}

const SUSPENDED =
  "This tenant is suspended. It is read-only, and no job starts until the operator ends the suspension.";

/**
 * Finds the tenant of the request and checks the permissions in it. A suspended tenant is read-only for everyone,
 * including super admins: only GET and HEAD pass, with any permission.
 */
export async function requireTenant(
  runtime: ApiRuntime,
  caller: { principal: Principal; info: RequestInfo; named: string | null },
  permissions: readonly TenantPermission[],
): Promise<TenantMembership> {
  const { principal, named } = caller;
  const membership = await resolveTenant(runtime.auth, principal, named);
  if (!membership.found && membership.reason === "not-named") {
    throw new HttpProblem("tenant-required", { detail: "Name the tenant (id or slug) in the X-Tenant-Id header." });
  }
  if (!membership.found) throw notFound();
  await requirePermissions(runtime, { ...caller, membership }, permissions);
  if (membership.tenant.status === "suspended" && !SAFE_METHODS.has(caller.info.method)) throw suspended();
  if (membership.role === "super_admin") await auditSuperAdmin(runtime, caller, membership.tenant.id);
  return membership;
}

const suspended = (): HttpProblem => new HttpProblem("tenant-suspended", { detail: SUSPENDED });

/** A caller in the tenant of the request. */
interface Visitor {
  readonly principal: Principal;
  readonly info: RequestInfo;
  readonly membership: TenantMembership;
}

/** Refuses a caller who lacks one of these permissions in the tenant of the request. @throws HttpProblem 403 */
export async function requirePermissions(
  runtime: ApiRuntime,
  visitor: Visitor,
  permissions: readonly TenantPermission[],
): Promise<void> {
  const missing = permissions.find((permission) => !visitor.membership.permissions.includes(permission));
  if (missing !== undefined) throw await denied(runtime, visitor, missing);
}

/** Records that a caller lacks a permission. Returns the refusal, which names the permission. */
export async function denied(
  runtime: ApiRuntime,
  { membership, ...caller }: Visitor,
  missing: TenantPermission,
): Promise<HttpProblem> {
  await auditDenial(runtime, caller, { reason: missing, tenantId: membership.tenant.id });
  const isScope = roleAllows(membership.role, missing);
  return new HttpProblem(isScope ? "insufficient-scope" : "forbidden", {
    detail: isScope ? scopeNeeded(missing) : `Your role does not allow ${missing}.`,
  });
}

/** Checks a permission on the installation itself. @throws HttpProblem 403 */
export async function requirePlatform(
  runtime: ApiRuntime,
  caller: { principal: Principal; info: RequestInfo },
  permission: PlatformPermission,
): Promise<void> {
  if (platformPermissions(caller.principal).includes(permission)) return;
  await auditDenial(runtime, caller, { reason: permission });
  const { principal } = caller;
  const onlyScope = principal.kind === "api_key" && principal.key.kind === "super_admin" && principal.user.isSuperAdmin;
  throw new HttpProblem(
    onlyScope ? "insufficient-scope" : "forbidden",
    onlyScope ? { detail: scopeNeeded(permission) } : {},
  );
}

function scopeNeeded(permission: TenantPermission | PlatformPermission): string {
  const scopes = scopesFor(permission);
  if (scopes.length === 0) return `No scope of an API key allows ${permission}.`;
  return `The API key needs the scope ${scopes.join(" or ")}.`;
}

/** Returns the actor, as the queue and the audit record it. */
export function actorOf(principal: Principal, info: RequestInfo) {
  return principal.kind === "user"
    ? { kind: "user" as const, id: principal.user.id, userId: principal.user.id, requestId: info.id }
    : { kind: "api_key" as const, id: principal.key.id, userId: principal.user.id, requestId: info.id };
}

const superAdminReads = new BoundedMap<string, number>(10_000);

// Every change is recorded. Pages repeat reads every few seconds, so only the first read in ten minutes is recorded.
async function auditSuperAdmin(
  runtime: ApiRuntime,
  caller: { principal: Principal; info: RequestInfo },
  tenantId: string,
): Promise<void> {
  const { principal, info } = caller;
  const key = `${principal.user.id}:${tenantId}`;
  const isRead = SAFE_METHODS.has(info.method);
  const now = performance.now();
  if (isRead && now - (superAdminReads.get(key) ?? Number.NEGATIVE_INFINITY) < SUPER_ADMIN_READ_AUDIT_MS) return;
  const { kind, id } = actorOf(principal, info);
  const entry = {
    action: "super_admin.enter_tenant",
    severity: "medium" as const,
    actorKind: kind,
    actorId: id,
    tenantId,
  };
  await writeAudit(runtime.auth, { ...entry, success: true, ...requestFields(info) });
  if (isRead) superAdminReads.set(key, now);
}

async function auditDenial(
  runtime: ApiRuntime,
  { principal, info }: { principal: Principal; info: RequestInfo },
  denied: { reason: string; tenantId?: string },
): Promise<void> {
  const { kind, id } = actorOf(principal, info);
  const entry = { action: "access.denied", severity: "medium" as const, actorKind: kind, actorId: id };
  await audit(runtime, info, { ...entry, ...denied });
}

// A denial stands even if it could not be recorded.
async function audit(
  runtime: ApiRuntime,
  info: RequestInfo,
  entry: Omit<Parameters<typeof writeAudit>[1], "success">,
): Promise<void> {
  try {
    await runtime.denials.add({ ...entry, success: false, ...requestFields(info) });
  } catch (error) {
    runtime.log.warn({ request_id: info.id, action: entry.action, error: String(error) }, "audit line not written");
  }
}

function requestFields(info: RequestInfo) {
  return {
    requestId: info.id,
    ip: info.ip,
    userAgent: info.userAgent,
    detail: { method: info.method, path: info.path },
  };
}
