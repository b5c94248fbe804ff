"use client";

import { createContext, type ReactNode, useCallback, useContext, useRef, useState } from "react";

/** Automatic changes are announced at most this often. */
const EVERY_MS = 10_000;

const AnnouncerContext = createContext<(key: string, say: (count: number) => string) => void>(() => {});

/**
 * Returns a function that counts a change of a kind. The counts of all kinds are announced together, politely and
 * rarely.
 */
export function useAnnounce(): (key: string, say: (count: number) => string) => void {
  return useContext(AnnouncerContext);
}

export function AnnouncerProvider({ children }: { readonly children: ReactNode }) {
  const [message, setMessage] = useState("");
  const waiting = useRef(new Map<string, { count: number; say: (count: number) => string }>());
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const lastSaid = useRef(0);
  const flush = useCallback(() => {
    timer.current = undefined;
    lastSaid.current = Date.now();
    setMessage([...waiting.current.values()].map(({ count, say }) => say(count)).join(", "));
    waiting.current.clear();
  }, []);
  const announce = useCallback(
    (key: string, say: (count: number) => string) => {
      const count = (waiting.current.get(key)?.count ?? 0) + 1;
      waiting.current.set(key, { count, say });
      timer.current ??= setTimeout(flush, Math.max(300, EVERY_MS - (Date.now() - lastSaid.current)));
    },
    [flush],
  );
  return (
    <AnnouncerContext value={announce}>
      {children}
      <div role="status" aria-live="polite" className="sr-only">
        {message}
      </div>
    </AnnouncerContext>
  );
}
