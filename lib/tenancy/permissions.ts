/*
 * What a principal may do: tenants, roles, scopes, and the permissions they grant. A key never has more rights than its
 * creator has at present, and its scopes only reduce them. A foreign tenant looks exactly like a missing one. A
 * suspended tenant is read-only.
 *
 * Start with this file (roles and scopes), then `resolve.ts` (the tenant of a request) and `standing.ts` (rights of an
 * actor whose request has ended).
 */

import type { Principal } from "@/lib/auth/principal";
import {
  API_KEY_SCOPES,
  type ApiKeyScope,
  type EffectiveRole,
  type Permission,
  PLATFORM_PERMISSIONS,
  type PlatformPermission,
  TENANT_PERMISSIONS,
  type TenantPermission,
} from "@/lib/contract";
import type { BulkActionName } from "@/lib/queue/states";

const READ: readonly TenantPermission[] = [
  "jobs:read",
  "triggers:read",
  "events:read",
  "definitions:read",
  "assets:read",
];
const WORK_ON_JOBS: readonly TenantPermission[] = ["jobs:create", "jobs:cancel", "jobs:retry", "jobs:update"];
const WORK: readonly TenantPermission[] = [...WORK_ON_JOBS, "triggers:write", "events:publish", "webhooks:read"];
/** Deciding where the tenant's data is sent. */
const ADMINISTER: readonly TenantPermission[] = ["webhooks:write"];

/** The permissions of each role in its tenant. */
const ROLE_PERMISSIONS: Readonly<Record<EffectiveRole, readonly TenantPermission[]>> = {
  super_admin: TENANT_PERMISSIONS,
  admin: [...READ, ...WORK, ...ADMINISTER],
  member: [...READ, ...WORK],
  viewer: READ,
};

/** The permissions of each scope, as far as the key's creator has them. */
const SCOPE_PERMISSIONS: Readonly<Record<ApiKeyScope, readonly Permission[]>> = {
  "jobs:read": ["jobs:read", "definitions:read"],
  "jobs:create": ["jobs:create"],
  "jobs:write": WORK_ON_JOBS,
  "triggers:read": ["triggers:read", "definitions:read"],
  "triggers:write": ["triggers:write"],
  "webhooks:read": ["webhooks:read"],
  "webhooks:write": ["webhooks:write"],
  "events:read": ["events:read"],
  "events:write": ["events:publish"],
  "assets:read": ["assets:read"],
  "platform:read": [
    "platform:workers:read",
    "platform:worker-keys:read",
    "platform:providers:read",
    "platform:definitions:read",
    "platform:queues:read",
    "platform:tenants:read",
  ],
  "platform:write": [
    "platform:worker-keys:write",
    "platform:providers:write",
    "platform:definitions:write",
    "platform:queues:write",
    "platform:tenants:write",
  ],
};

/** The parts of a key that determine its rights. */
interface KeyRights {
  readonly kind: "tenant" | "super_admin" | "worker";
  readonly scopes: readonly ApiKeyScope[];
}

/** Returns the permissions of a role in a tenant, reduced to the key's scopes if the principal is a key. */
export function tenantPermissions(principal: Principal, role: EffectiveRole): TenantPermission[] {
  return permissionsOf(role, principal.kind === "user" ? null : principal.key);
}

/** The same for a role and a key; null for a user in a session. */
export function permissionsOf(role: EffectiveRole, key: KeyRights | null): TenantPermission[] {
  return ROLE_PERMISSIONS[role].filter((permission) => key === null || keyAllows(key, permission));
}

/** Returns the permissions that an action on many jobs needs: those of the same action on one job. */
export function bulkActionPermissions(action: BulkActionName): readonly TenantPermission[] {
  if (action === "cancel") return ["jobs:cancel"];
  return action === "retry" || action === "redrive" ? ["jobs:retry", "jobs:create"] : ["jobs:update"];
}

/** Returns the permissions on the installation itself: those of a super admin, or of a super admin's key. */
export function platformPermissions(principal: Principal): PlatformPermission[] {
  if (!principal.user.isSuperAdmin) return [];
  if (principal.kind === "api_key" && principal.key.kind !== "super_admin") return [];
  return PLATFORM_PERMISSIONS.filter((permission) => principal.kind === "user" || keyAllows(principal.key, permission));
}

/**
 * Returns the scopes that would allow a key to do this. There is at least one for each permission that keys can have.
 */
export function scopesFor(permission: Permission): ApiKeyScope[] {
  return API_KEY_SCOPES.filter((scope) => SCOPE_PERMISSIONS[scope].includes(permission));
}

/** Returns true if the role allows it. Distinguishes a missing scope from a missing right. */
export function roleAllows(role: EffectiveRole, permission: TenantPermission): boolean {
  return ROLE_PERMISSIONS[role].includes(permission);
}

function keyAllows(key: KeyRights, permission: Permission): boolean {
  if (key.kind === "worker") return false;
  return key.scopes.some((scope) => SCOPE_PERMISSIONS[scope].includes(permission));
}
