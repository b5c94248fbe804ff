import { asc, eq, or, sql } from "drizzle-orm";
import { tenants } from "@/drizzle/schema";
import type { Principal, TenantName } from "@/lib/auth/principal";
import type { EffectiveRole, TenantPermission } from "@/lib/contract";
import { columnsOf, type Runner } from "@/lib/db";
import { tenantPermissions } from "./permissions";

/** A principal's role and permissions in the tenant of a request. */
export interface TenantMembership {
  readonly tenant: TenantName;
  readonly role: EffectiveRole;
  readonly permissions: readonly TenantPermission[];
}

export type TenantResolution =
  | ({ readonly found: true } & TenantMembership)
  | { readonly found: false; readonly reason: "not-named" | "not-found" };

const LISTED = 500;
const NAME = { ...columnsOf(tenants, "id", "slug", "name"), status: sql<TenantName["status"]>`${tenants.status}` };

/**
 * Finds the tenant of a request: the key's own, or the one named (by id or slug) that the principal may enter. A
 * foreign tenant is "not-found" exactly like a missing one. A super admin may enter any tenant, but has to name it.
 */
export async function resolveTenant(db: Runner, principal: Principal, named: string | null): Promise<TenantResolution> {
  const wanted = named === null ? null : named.toLowerCase();
  const own = principal.kind === "api_key" ? principal.key.tenant : null;
  if (own && (wanted === null || isNamed(own, wanted))) return enter(principal, own);
  if (own) return { found: false, reason: "not-found" };
  if (wanted === null) return { found: false, reason: "not-named" };
  const member = principal.memberships.find((tenant) => isNamed(tenant, wanted));
  if (member) return enter(principal, member);
  if (!principal.user.isSuperAdmin) return { found: false, reason: "not-found" };
  const isWanted = or(eq(tenants.slug, wanted), eq(sql`${tenants.id}::text`, wanted));
  const [tenant] = await db.orm.select(NAME).from(tenants).where(isWanted);
  return tenant ? enter(principal, tenant) : { found: false, reason: "not-found" };
}

/** Returns the tenants that a principal may name; for a super admin all of them (500 at most). */
export async function enterableTenants(db: Runner, principal: Principal): Promise<TenantMembership[]> {
  const own = principal.kind === "api_key" ? principal.key.tenant : null;
  const everyone = !own && principal.user.isSuperAdmin;
  const candidates = own ? [own] : everyone ? await allTenants(db) : principal.memberships;
  return candidates.map((tenant) => enter(principal, tenant)).filter((membership) => membership.found);
}

const allTenants = ({ orm }: Runner): Promise<TenantName[]> =>
  orm.select(NAME).from(tenants).orderBy(asc(tenants.name), asc(tenants.id)).limit(LISTED);

function enter(principal: Principal, tenant: TenantName): TenantResolution {
  const membership = principal.memberships.find((candidate) => candidate.id === tenant.id);
  const role = principal.user.isSuperAdmin ? "super_admin" : membership?.role;
  if (!role) return { found: false, reason: "not-found" };
  const { id, slug, name, status } = tenant;
  return { found: true, tenant: { id, slug, name, status }, role, permissions: tenantPermissions(principal, role) };
}

function isNamed(tenant: TenantName, wanted: string): boolean {
  return tenant.id === wanted || tenant.slug === wanted;
}
