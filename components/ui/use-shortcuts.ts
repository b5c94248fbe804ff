"use client";

import { useEffect, useRef } from "react";
import { usePreference } from "@/lib/client/preferences";

export type Shortcuts = Readonly<Record<string, (event: KeyboardEvent) => void>>;

/** Returns the choice of single-key shortcuts, on or off, and its setter. Users of speech input may need them off. */
export function useShortcutsChoice() {
  return usePreference("shortcuts", ["on", "off"]);
}

/** Handles single keys while no input is focused and no dialog or menu is open. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const [choice] = useShortcutsChoice();
  const latest = useRef(shortcuts);
  useEffect(() => {
    latest.current = shortcuts;
  });
  useEffect(() => {
    if (choice === "off") return;
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector('dialog[open], [role="menu"]')) return;
      const run = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined;
      if (!run) return;
      event.preventDefault();
      run(event);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [choice]);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
