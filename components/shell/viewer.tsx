"use client";

import { createContext, type ReactNode, useContext } from "react";
import type { EffectiveRole, TenantPermission, TenantStatus } from "@/lib/contract";
import { ROLE_NAMES } from "./role-names";

export interface TenantLink {
  readonly slug: string;
  readonly name: string;
  readonly role: EffectiveRole;
}

/** The viewer's account and rights, limited to what the page shows. */
export interface ViewerInfo {
  readonly userId: string;
  readonly email: string;
  readonly name: string;
  readonly isSuperAdmin: boolean;
  readonly tenants: readonly TenantLink[];
}

export interface CurrentTenant extends TenantLink {
  readonly status: TenantStatus;
  readonly permissions: readonly TenantPermission[];
}

const TenantContext = createContext<CurrentTenant | null>(null);

export function CurrentTenantProvider({
  tenant,
  children,
}: {
  readonly tenant: CurrentTenant;
  readonly children: ReactNode;
}) {
  return <TenantContext value={tenant}>{children}</TenantContext>;
}

/** Returns the tenant in the page's path. */
export function useTenant(): CurrentTenant {
  const tenant = useContext(TenantContext);
  if (!tenant) throw new Error("useTenant outside a tenant page");
  return tenant;
}

/** Returns why the viewer cannot change or start something here, or null when they can. */
export function useReason(permission: TenantPermission): string | null {
  const tenant = useTenant();
  if (tenant.status === "suspended") return `${tenant.name} is suspended and read-only.`;
  if (tenant.permissions.includes(permission)) return null;
  const who = permission === "webhooks:write" ? "An admin" : "A member or an admin";
  return `Your role in ${tenant.name} is ${ROLE_NAMES[tenant.role].toLowerCase()}. ${who} can do this.`;
}
