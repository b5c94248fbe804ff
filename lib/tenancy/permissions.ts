import type { Principal } from "@/lib/auth/principal";
import {
  type ApiKeyScope,
  type EffectiveRole,
  type Permission,
  PLATFORM_PERMISSIONS,
  type PlatformPermission,
  TENANT_PERMISSIONS,
  type TenantPermission,
} from "@/lib/contract";

const READ: readonly TenantPermission[] = ["jobs:read", "definitions:read", "assets:read"];
const WORK: readonly TenantPermission[] = ["jobs:create", "jobs:cancel", "jobs:retry", "jobs:update"];

/** What each role may do in its tenant. */
const ROLE_PERMISSIONS: Readonly<Record<EffectiveRole, readonly TenantPermission[]>> = {
  super_admin: TENANT_PERMISSIONS,
  admin: [...READ, ...WORK],
  member: [...READ, ...WORK],
  viewer: READ,
};

/** What each scope lets a key do, as far as its creator may do it. */
const SCOPE_PERMISSIONS: Readonly<Record<ApiKeyScope, readonly Permission[]>> = {
  "jobs:read": ["jobs:read", "definitions:read"],
  "jobs:write": WORK,
  "assets:read": ["assets:read"],
  "platform:read": [
    "platform:workers:read",
    "platform:providers:read",
    "platform:definitions:read",
    "platform:queues:read",
  ],
  "platform:write": ["platform:providers:write", "platform:definitions:write", "platform:queues:write"],
};

/** The permissions of a role in a tenant, cut down to a key's scopes where the principal is a key. */
export function tenantPermissions(principal: Principal, role: EffectiveRole): TenantPermission[] {
  return ROLE_PERMISSIONS[role].filter((permission) => scopeAllows(principal, permission));
}

/** The permissions on the installation itself: a super admin's, and those of a super admin's own kind of key. */
export function platformPermissions(principal: Principal): PlatformPermission[] {
  if (!principal.user.isSuperAdmin) return [];
  if (principal.kind === "api_key" && principal.key.kind !== "super_admin") return [];
  return PLATFORM_PERMISSIONS.filter((permission) => scopeAllows(principal, permission));
}

/** Whether the role alone would allow it; tells a missing scope from a missing right. */
export function roleAllows(role: EffectiveRole, permission: TenantPermission): boolean {
  return ROLE_PERMISSIONS[role].includes(permission);
}

function scopeAllows(principal: Principal, permission: Permission): boolean {
  if (principal.kind === "user") return true;
  if (principal.key.kind === "worker") return false;
  return principal.key.scopes.some((scope) => SCOPE_PERMISSIONS[scope].includes(permission));
}
