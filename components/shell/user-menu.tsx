"use client";

import { BookOpen, ChevronsUpDown, CircleUserRound, KeyRound, LogOut } from "lucide-react";
import { useTheme } from "next-themes";
import { Menu, MenuCheck, MenuItem, MenuLabel, MenuSeparator } from "@/components/ui/menu";
import { Plain } from "@/components/ui/plain";
import { TIME_ZONES } from "@/components/ui/time";
import { useToast } from "@/components/ui/toast";
import { usePreference } from "@/lib/client/preferences";
import { signOut } from "@/lib/client/session";
import type { ViewerInfo } from "./viewer";

const THEMES = [
  ["system", "Same as the system"],
  ["light", "Light"],
  ["dark", "Dark"],
] as const;

export function UserMenu({ viewer }: { readonly viewer: ViewerInfo }) {
  const toast = useToast();
  const leave = () =>
    signOut().catch(() =>
      toast({ title: "You are still signed in", detail: "The server cannot be reached.", tone: "bad" }),
    );
  return (
    <Menu
      align="start"
      label="Account"
      trigger={
        <button
          type="button"
          className="flex min-h-10 w-full items-center gap-2.5 rounded-md px-2 text-left text-sm hover:bg-line"
        >
          <CircleUserRound aria-hidden className="size-4 text-muted" />
          <span className="min-w-0 flex-1 truncate">
            <span className="sr-only">Account of </span>
            <Plain text={viewer.name || viewer.email} />
          </span>
          <ChevronsUpDown aria-hidden className="size-3.5 text-muted" />
        </button>
      }
    >
      <MenuLabel>{viewer.email}</MenuLabel>
      <MenuSeparator />
      <Preferences />
      <MenuSeparator />
      <MenuItem onSelect={() => window.location.assign("/account/password")}>
        <KeyRound aria-hidden className="size-4 text-muted" />
        Change password
      </MenuItem>
      <MenuItem onSelect={() => window.location.assign("/docs/api")}>
        <BookOpen aria-hidden className="size-4 text-muted" />
        API reference
      </MenuItem>
      <MenuItem onSelect={leave}>
        <LogOut aria-hidden className="size-4 text-muted" />
        Sign out
      </MenuItem>
    </Menu>
  );
}

/** The theme, and the zone of times. */
function Preferences() {
  const { theme, setTheme } = useTheme();
  const [zone, setZone] = usePreference("zone", TIME_ZONES);
  return (
    <>
      <MenuLabel>Theme</MenuLabel>
      {THEMES.map(([value, label]) => (
        <MenuCheck key={value} checked={theme === value} onCheckedChange={() => setTheme(value)}>
          {label}
        </MenuCheck>
      ))}
      <MenuSeparator />
      <MenuLabel>Times</MenuLabel>
      {TIME_ZONES.map((value) => (
        <MenuCheck key={value} checked={zone === value} onCheckedChange={() => setZone(value)}>
          {value === "utc" ? "UTC" : "This browser's zone"}
        </MenuCheck>
      ))}
    </>
  );
}
