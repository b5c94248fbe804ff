import type { CurrentTenant, ViewerInfo } from "@/components/shell/viewer";
import type { TenantPage, Viewer } from "@/lib/api/page";
import { isPaused } from "@/lib/api/paused";

/** Returns what the browser may know about the viewer: listed fields only. */
export function viewerInfo(viewer: Viewer): ViewerInfo {
  const { id, email, displayName, isSuperAdmin } = viewer.principal.user;
  return {
    userId: id,
    email,
    name: displayName,
    isSuperAdmin,
    tenants: viewer.tenants.map(({ tenant, role }) => ({ slug: tenant.slug, name: tenant.name, role })),
  };
}

/** Returns what the browser may know about the tenant of a page. */
export function currentTenant(page: TenantPage): CurrentTenant {
  const { slug, name, status } = page.tenant;
  return { slug, name, status, role: page.membership.role, permissions: [...page.permissions] };
}

/** Returns the notice on every page of a suspended tenant. */
export function suspendedNotice({ tenant }: TenantPage): string | null {
  if (tenant.status === "active") return null;
  return `${tenant.name} is suspended. It is read-only, and no job starts until the operator ends the suspension.`;
}

/**
 * Returns the notice on every page of a restored copy, in which no job runs. For a super admin, it explains how to
 * resume.
 */
export async function pausedNotice({ principal }: Viewer): Promise<string | null> {
  if (!(await isPaused())) return null;
  const what = "Jobs and webhooks are paused, because the database was restored from a backup.";
  return principal.user.isSuperAdmin ? `${what} To resume, run: npm run db:migrate -- --resume` : what;
}
