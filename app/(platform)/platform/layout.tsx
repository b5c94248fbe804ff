import type { ReactNode } from "react";
import { pausedNotice, viewerInfo } from "@/app/_lib/viewer";
import { AppShell } from "@/components/shell/app-shell";
import { requirePlatformPage } from "@/lib/api/page";

/** The frame of the platform's pages; "not found" for anyone but a super admin. */
export default async function PlatformLayout({ children }: { readonly children: ReactNode }) {
  const viewer = await requirePlatformPage("platform:workers:read");
  return (
    <AppShell viewer={viewerInfo(viewer)} tenantSlug={null} notice={await pausedNotice(viewer)}>
      {children}
    </AppShell>
  );
}
