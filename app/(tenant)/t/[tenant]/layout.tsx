import type { ReactNode } from "react";
import { currentTenant, pausedNotice, suspendedNotice, viewerInfo } from "@/app/_lib/viewer";
import { AppShell } from "@/components/shell/app-shell";
import { CurrentTenantProvider } from "@/components/shell/viewer";
import { requirePage } from "@/lib/api/page";
import { LiveProvider } from "@/lib/client/live/use-live";

interface TenantLayoutProps {
  readonly params: Promise<{ tenant: string }>;
  readonly children: ReactNode;
}

/**
 * The frame of a tenant's pages. It guards itself, and each page does too, because a layout does not protect its pages.
 */
export default async function TenantLayout({ params, children }: TenantLayoutProps) {
  const { tenant: tenantSlug } = await params;
  const page = await requirePage({ tenantSlug, permission: "jobs:read" });
  const viewer = viewerInfo(page);
  const tenant = currentTenant(page);
  return (
    <CurrentTenantProvider tenant={tenant}>
      <LiveProvider tenant={tenant.slug} userId={viewer.userId}>
        <AppShell viewer={viewer} tenantSlug={tenant.slug} notice={suspendedNotice(page) ?? (await pausedNotice(page))}>
          {children}
        </AppShell>
      </LiveProvider>
    </CurrentTenantProvider>
  );
}
