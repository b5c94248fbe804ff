"use client";

import {
  CalendarClock,
  CopyCheck,
  FolderTree,
  Inbox,
  Keyboard,
  Layers,
  ListChecks,
  type LucideIcon,
  Radio,
  Server,
  Webhook,
} from "lucide-react";
import { usePathname } from "next/navigation";
import { cn } from "@/components/ui/cn";
import { Link } from "@/components/ui/link";
import { Logo } from "./logo";
import { TenantSwitcher } from "./tenant-switcher";
import { UserMenu } from "./user-menu";
import type { ViewerInfo } from "./viewer";

interface SidebarProps {
  readonly viewer: ViewerInfo;
  readonly tenantSlug: string | null;
  readonly onHelp: () => void;
}

/** Pages below the jobs page with links of their own. */
const JOB_PAGES = ["triggers", "events", "dead-letters", "actions"];

export function Sidebar({ viewer, tenantSlug, onHelp }: SidebarProps) {
  const role = viewer.tenants.find(({ slug }) => slug === tenantSlug)?.role;
  const mayWrite = role !== undefined && role !== "viewer";
  return (
    <div className="flex h-full flex-col gap-4 p-3">
      <div className="hidden px-2 pt-1.5 lg:block">
        <Logo />
      </div>
      {viewer.tenants.length > 0 ? <TenantSwitcher tenants={viewer.tenants} current={tenantSlug} /> : null}
      <nav aria-label="Main" className="flex flex-1 flex-col gap-5">
        {tenantSlug ? (
          <ul className="flex flex-col gap-0.5">
            <NavLink
              href={`/t/${tenantSlug}/jobs`}
              icon={ListChecks}
              label="Jobs"
              but={JOB_PAGES.map((page) => `/t/${tenantSlug}/jobs/${page}`)}
            />
            <NavLink href={`/t/${tenantSlug}/jobs/triggers`} icon={CalendarClock} label="Triggers" />
            <NavLink href={`/t/${tenantSlug}/jobs/events`} icon={Radio} label="Events" />
            <NavLink href={`/t/${tenantSlug}/jobs/dead-letters`} icon={Inbox} label="Dead letters" />
            <NavLink href={`/t/${tenantSlug}/jobs/actions`} icon={CopyCheck} label="Bulk actions" />
            <NavLink href={`/t/${tenantSlug}/assets`} icon={FolderTree} label="Assets" />
            {mayWrite ? <NavLink href={`/t/${tenantSlug}/webhooks`} icon={Webhook} label="Webhooks" /> : null}
          </ul>
        ) : null}
        {viewer.isSuperAdmin ? (
          <div>
            <h2 className="px-2 pb-1 font-medium text-2xs text-muted uppercase tracking-wide">Platform</h2>
            <ul className="flex flex-col gap-0.5">
              <NavLink href="/platform/workers" icon={Server} label="Workers" />
              <NavLink href="/platform/queues" icon={Layers} label="Queues" />
            </ul>
          </div>
        ) : null}
      </nav>
      <div className="flex flex-col gap-0.5 border-line border-t pt-3">
        <button
          type="button"
          onClick={onHelp}
          className="flex min-h-8 items-center gap-2.5 rounded-md px-2 text-muted text-sm hover:bg-line hover:text-ink"
        >
          <Keyboard aria-hidden className="size-4" />
          Keyboard
          <kbd className="ml-auto font-mono text-2xs">?</kbd>
        </button>
        <UserMenu viewer={viewer} />
      </div>
    </div>
  );
}

function NavLink({
  href,
  icon: Icon,
  label,
  but = [],
}: {
  readonly href: string;
  readonly icon: LucideIcon;
  readonly label: string;
  /** Pages below it with links of their own. */
  readonly but?: readonly string[];
}) {
  const path = usePathname();
  const here = path.startsWith(href) && !but.some((other) => path.startsWith(other));
  return (
    <li>
      <Link
        href={href}
        aria-current={here ? "page" : undefined}
        className={cn(
          "flex min-h-8 items-center gap-2.5 rounded-md px-2 text-muted text-sm hover:bg-line hover:text-ink",
          here && "bg-line font-medium text-ink",
        )}
      >
        <Icon aria-hidden className="size-4" />
        {label}
      </Link>
    </li>
  );
}
