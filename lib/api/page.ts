import { headers } from "next/headers";
import { notFound, redirect } from "next/navigation";
import { loginPath } from "@/lib/auth/login-path";
import { getPrincipal, type Principal } from "@/lib/auth/principal";
import type { PlatformPermission, TenantPermission } from "@/lib/contract";
import { BACKGROUND_HEADER } from "@/lib/contract/background";
import { type Database, inLine, runInLine } from "@/lib/db";
import type { TenantScope } from "@/lib/queue/types";
import { platformPermissions } from "@/lib/tenancy/permissions";
import { enterableTenants, type TenantMembership } from "@/lib/tenancy/resolve";
import { actorOf, requireTenant } from "./authorize";
import { ownerLine, senderLine } from "./caller-line";
import { toHttpProblem } from "./http/errors";
import { CLIENT_IP_HEADER, type RequestInfo, usableRequestId } from "./http/request-info";
import { type ApiRuntime, getRuntime } from "./runtime";

/** What a page may show about its viewer. */
export interface Viewer {
  readonly principal: Principal;
  readonly tenants: readonly TenantMembership[];
  readonly platformPermissions: readonly PlatformPermission[];
}

/** The context of a tenant page. Pass `db` and `scope` to the reading functions of lib/queue. */
export interface TenantPage extends Viewer {
  readonly membership: TenantMembership;
  readonly tenant: TenantMembership["tenant"];
  readonly permissions: readonly TenantPermission[];
  readonly db: Database;
  readonly scope: TenantScope;
}

/** The context of a platform page; `db` is the platform pool. */
export interface PlatformPage extends Viewer {
  readonly db: Database;
}

/**
 * Guards a tenant page. Call it first in every page and layout, because a layout does not protect its pages. Redirects
 * to the login without a session. A tenant that is foreign, missing or closed to this role is "not found".
 */
export async function requirePage(wanted: { tenantSlug: string; permission: TenantPermission }): Promise<TenantPage> {
  const runtime = getRuntime();
  const info = await pageInfo(`/t/${wanted.tenantSlug}`);
  const viewer = await requireViewer(`/t/${wanted.tenantSlug}`);
  const caller = { principal: viewer.principal, info, named: wanted.tenantSlug };
  const membership = await membershipOrNotFound(runtime, caller, wanted.permission);
  const scope = { tenantId: membership.tenant.id, actor: actorOf(viewer.principal, info) };
  const db = inLine(runtime.web, membership.tenant.id);
  return { ...viewer, membership, tenant: membership.tenant, permissions: membership.permissions, db, scope };
}

/** Guards a platform page. For anyone but a super admin, the page is "not found". */
export async function requirePlatformPage(permission: PlatformPermission): Promise<PlatformPage> {
  const viewer = await requireViewer("/platform");
  if (!viewer.platformPermissions.includes(permission)) notFound();
  return { ...viewer, db: getRuntime().platform };
}

/** Returns the signed-in viewer. Redirects to the login without a session; the login returns to this page. */
export async function requireViewer(page: string): Promise<Viewer> {
  const viewer = await currentViewer();
  if (!viewer) redirect(loginPath(page));
  if (viewer.principal.user.mustChangePassword) redirect("/account/password");
  return viewer;
}

/** Returns the viewer signed in by cookie, or null. Pages accept no API keys. */
export async function currentViewer(): Promise<Viewer | null> {
  const runtime = getRuntime();
  const sent = await headers();
  const cookieOnly = new Headers({ cookie: sent.get("cookie") ?? "" });
  // A prefetched page was not opened by the user.
  if (sent.has("next-router-prefetch") || sent.get("sec-purpose")?.startsWith("prefetch"))
    cookieOnly.set(BACKGROUND_HEADER, "1");
  const { origin } = runtime.config;
  const sender = senderLine(cookieOnly, { ip: sent.get(CLIENT_IP_HEADER), origin });
  const principal = await runInLine(sender.name, () => getPrincipal(cookieOnly, { db: runtime.auth, origin }));
  if (!principal) return null;
  sender.belongsTo(principal);
  const tenants = await runInLine(ownerLine(principal), () => enterableTenants(runtime.auth, principal));
  return { principal, tenants, platformPermissions: platformPermissions(principal) };
}

/** Returns the nonce that inline scripts of this page must carry (Content-Security-Policy). */
export async function requestNonce(): Promise<string | undefined> {
  return (await headers()).get("x-nonce") ?? undefined;
}

async function membershipOrNotFound(
  runtime: ApiRuntime,
  caller: Parameters<typeof requireTenant>[1],
  permission: TenantPermission,
): Promise<TenantMembership> {
  try {
    return await runInLine(ownerLine(caller.principal), () => requireTenant(runtime, caller, [permission]));
  } catch (error) {
    const problem = toHttpProblem(error);
    if (problem && problem.status >= 400 && problem.status < 500) notFound();
    throw error;
  }
}

async function pageInfo(path: string): Promise<RequestInfo> {
  const sent = await headers();
  return {
    id: usableRequestId(sent.get("x-request-id")) ?? crypto.randomUUID(),
    method: "GET",
    path,
    search: "",
    ip: sent.get(CLIENT_IP_HEADER),
    userAgent: sent.get("user-agent"),
    ifMatch: null,
    chain: null,
  };
}
