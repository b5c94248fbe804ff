import * as z from "zod";

/** Permissions inside one tenant. */
export const TENANT_PERMISSIONS = [
  "jobs:read",
  "jobs:create",
  "jobs:cancel",
  "jobs:retry",
  "jobs:update",
  "triggers:read",
  "triggers:write",
  "webhooks:read",
  "webhooks:write",
  "events:read",
  "events:publish",
  "definitions:read",
  "assets:read",
] as const;

/** Permissions on the installation itself; super admins only. */
export const PLATFORM_PERMISSIONS = [
  "platform:workers:read",
  "platform:worker-keys:read",
  "platform:worker-keys:write",
  "platform:providers:read",
  "platform:providers:write",
  "platform:definitions:read",
  "platform:definitions:write",
  "platform:queues:read",
  "platform:queues:write",
  "platform:tenants:read",
  "platform:tenants:write",
] as const;

export const tenantPermission = z.enum(TENANT_PERMISSIONS);
export const platformPermission = z.enum(PLATFORM_PERMISSIONS);
export type TenantPermission = z.infer<typeof tenantPermission>;
export type PlatformPermission = z.infer<typeof platformPermission>;
export type Permission = TenantPermission | PlatformPermission;

export const TENANT_ROLES = ["admin", "member", "viewer"] as const;
export const tenantRole = z.enum(TENANT_ROLES);
export type TenantRole = z.infer<typeof tenantRole>;
/** A suspended tenant is read-only: nothing in it is changed or started. */
export const tenantStatus = z.enum(["active", "suspended"]);
export type TenantStatus = z.infer<typeof tenantStatus>;

/** The role of a principal in a tenant: from a membership, or as super admin. */
export const effectiveRole = z.enum(["super_admin", ...TENANT_ROLES]);
export type EffectiveRole = z.infer<typeof effectiveRole>;

/** Scopes of an API key. A key never has more rights than its creator has at present. */
export const API_KEY_SCOPES = [
  "jobs:read",
  "jobs:create",
  "jobs:write",
  "triggers:read",
  "triggers:write",
  "webhooks:read",
  "webhooks:write",
  "events:read",
  "events:write",
  "assets:read",
  "platform:read",
  "platform:write",
] as const;
export const apiKeyScope = z.enum(API_KEY_SCOPES);
export type ApiKeyScope = z.infer<typeof apiKeyScope>;
