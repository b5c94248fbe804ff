"use client";

import { Check, ChevronsUpDown } from "lucide-react";
import { cn } from "@/components/ui/cn";
import { Menu, MenuItem, MenuLabel } from "@/components/ui/menu";
import { Plain } from "@/components/ui/plain";
import { ROLE_NAMES } from "./role-names";
import type { TenantLink } from "./viewer";

interface TenantSwitcherProps {
  readonly tenants: readonly TenantLink[];
  readonly current: string | null;
}

/**
 * Shows the tenant of this page and switches to another. A switch is a full page load, so nothing of the old tenant
 * stays in the memory or the router cache of this tab.
 */
export function TenantSwitcher({ tenants, current }: TenantSwitcherProps) {
  const here = tenants.find((tenant) => tenant.slug === current);
  return (
    <Menu
      align="start"
      label="Tenants"
      trigger={
        <button
          type="button"
          className="flex min-h-11 items-center gap-2.5 rounded-md border border-line bg-panel px-2.5 py-1.5 text-left hover:bg-hover"
        >
          <Initials name={here?.name ?? "—"} />
          <span className="min-w-0 flex-1">
            <span className="block truncate font-medium text-sm">
              {here ? (
                <>
                  <span className="sr-only">Tenant </span>
                  <Plain text={here.name} />
                </>
              ) : (
                "Choose a tenant"
              )}
            </span>
            {here ? <span className="block text-2xs text-muted">{ROLE_NAMES[here.role]}</span> : null}
          </span>
          <ChevronsUpDown aria-hidden className="size-3.5 text-muted" />
        </button>
      }
    >
      <MenuLabel>Tenants</MenuLabel>
      {tenants.map((tenant) => (
        <MenuItem key={tenant.slug} asChild>
          <a href={`/t/${tenant.slug}/jobs`} aria-current={tenant.slug === current ? "true" : undefined}>
            <Initials name={tenant.name} />
            <span className="min-w-0 flex-1 truncate">
              <Plain text={tenant.name} />
            </span>
            <Check aria-hidden className={cn("size-4", tenant.slug !== current && "invisible")} />
          </a>
        </MenuItem>
      ))}
    </Menu>
  );
}

function Initials({ name }: { readonly name: string }) {
  const letters = Array.from(name.trim()).slice(0, 1).join("").toUpperCase();
  return (
    <span
      aria-hidden
      className="grid size-6 shrink-0 place-items-center rounded-sm bg-accent-soft font-semibold text-2xs text-accent"
    >
      {letters}
    </span>
  );
}
