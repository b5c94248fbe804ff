/*
 * The frame of every signed-in page: navigation, tenant switcher, account menu, and the messages shown instead of a
 * page. Permissions in the browser only decide what is offered; the API checks each request. Switching the tenant and
 * signing out are full page loads, so no data of the tenant stays in the tab. An ended session asks for a sign-in in
 * place, so that typed input is kept.
 *
 * Start with `AppShell` below, then `viewer.tsx` (the tenant and the viewer's rights) and `session-ended.tsx`.
 */

"use client";

import { Menu as MenuIcon } from "lucide-react";
import { usePathname } from "next/navigation";
import { type ReactNode, useEffect, useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { useShortcuts } from "@/components/ui/use-shortcuts";
import { KeyboardHelp } from "./keyboard-help";
import { LiveIndicator } from "./live-indicator";
import { Logo } from "./logo";
import { SessionEnded } from "./session-ended";
import { Sidebar } from "./sidebar";
import type { ViewerInfo } from "./viewer";

interface AppShellProps {
  readonly viewer: ViewerInfo;
  /** Slug of the tenant of a tenant page; null on platform pages. */
  readonly tenantSlug: string | null;
  /** Shown above every page. */
  readonly notice: string | null;
  readonly children: ReactNode;
}

/** The frame of every signed-in page: navigation at the side, or behind a button on a phone. */
export function AppShell({ viewer, tenantSlug, notice, children }: AppShellProps) {
  const [drawerOpen, setDrawerOpen] = useState(false);
  const [helpOpen, setHelpOpen] = useState(false);
  const pathname = usePathname();
  useShortcuts({ "?": () => setHelpOpen(true) });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page closes the drawer that led to it
  useEffect(() => setDrawerOpen(false), [pathname]);
  const sidebar = <Sidebar viewer={viewer} tenantSlug={tenantSlug} onHelp={() => setHelpOpen(true)} />;
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[14rem_minmax(0,1fr)]">
      <aside className="sticky top-0 hidden h-dvh border-line border-r bg-sunken lg:block">{sidebar}</aside>
      <div className="flex min-w-0 flex-col">
        <header className="sticky top-0 z-30 flex h-12 items-center gap-2 border-line border-b bg-panel px-3 lg:hidden">
          <Button variant="ghost" size="icon" aria-label="Open navigation" onClick={() => setDrawerOpen(true)}>
            <MenuIcon aria-hidden className="size-4.5" />
          </Button>
          <Logo />
          <span className="flex-1" />
          <LiveIndicator />
        </header>
        {notice ? (
          <p role="status" className="bg-warn-soft px-4 py-2 text-sm text-warn sm:px-6 lg:px-8">
            {notice}
          </p>
        ) : null}
        <main id="main" tabIndex={-1} className="min-w-0 flex-1 px-4 py-5 outline-none sm:px-6 lg:px-8">
          <div className="mx-auto max-w-[84rem]">{children}</div>
        </main>
      </div>
      <Dialog drawer title="Navigation" open={drawerOpen} onClose={() => setDrawerOpen(false)}>
        {sidebar}
      </Dialog>
      <KeyboardHelp open={helpOpen} onClose={() => setHelpOpen(false)} />
      <SessionEnded email={viewer.email} />
    </div>
  );
}
