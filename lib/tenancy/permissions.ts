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

/** What each role may do in its tenant. */
const ROLE_PERMISSIONS: Readonly<Record<EffectiveRole, readonly TenantPermission[]>> = {
  super_admin: TENANT_PERMISSIONS,
  admin: [...READ, ...WORK, ...ADMINISTER],
  member: [...READ, ...WORK],
  viewer: READ,
};

/** What each scope lets a key do, as far as its creator may do it. */
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

/** What a key is, as far as its rights go. */
interface KeyRights {
  readonly kind: "tenant" | "super_admin" | "worker";
  readonly scopes: readonly ApiKeyScope[];
}

/** The permissions of a role in a tenant, cut down to a key's scopes where the principal is a key. */
export function tenantPermissions(principal: Principal, role: EffectiveRole): TenantPermission[] {
  return permissionsOf(role, principal.kind === "user" ? null : principal.key);
}

/** The same, of a role and the key that is used, or null for a person in a session. */
export function permissionsOf(role: EffectiveRole, key: KeyRights | null): TenantPermission[] {
  return ROLE_PERMISSIONS[role].filter((permission) => key === null || keyAllows(key, permission));
}

/** Returns the permissions that an action on many jobs needs: those of the same action on one job. */
export function bulkActionPermissions(action: BulkActionName): readonly TenantPermission[] {
  if (action === "cancel") return ["jobs:cancel"];
  return action === "retry" || action === "redrive" ? ["jobs:retry", "jobs:create"] : ["jobs:update"];
}

/** The permissions on the installation itself: a super admin's, and those of a super admin's own kind of key. */
export function platformPermissions(principal: Principal): PlatformPermission[] {
  if (!principal.user.isSuperAdmin) return [];
  if (principal.kind === "api_key" && principal.key.kind !== "super_admin") return [];
  return PLATFORM_PERMISSIONS.filter((permission) => principal.kind === "user" || keyAllows(principal.key, permission));
}

/** Returns the scopes that would allow a key to do this. There is at least one for each permission that keys can have. */
export function scopesFor(permission: Permission): ApiKeyScope[] {
  return API_KEY_SCOPES.filter((scope) => SCOPE_PERMISSIONS[scope].includes(permission));
}

/** Whether the role alone would allow it; tells a missing scope from a missing right. */
export function roleAllows(role: EffectiveRole, permission: TenantPermission): boolean {
  return ROLE_PERMISSIONS[role].includes(permission);
}

function keyAllows(key: KeyRights, permission: Permission): boolean {
  if (key.kind === "worker") return false;
  return key.scopes.some((scope) => SCOPE_PERMISSIONS[scope].includes(permission));
}
