import { createContext, useContext, useSyncExternalStore } from "react";

/** Clock skew below this is ignored, because the Date header has a resolution of one second. */
const TOLERATED_SKEW_MS = 2000;
const TICK_MS = 1000;

let skewMs = 0;
let now: number | null = null;
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

/** Computes this browser's clock skew from an answer's Date header. */
export function noteServerDate(header: string | null): void {
  const date = header === null ? Number.NaN : Date.parse(header);
  if (Number.isNaN(date)) return;
  const difference = date - Date.now();
  skewMs = Math.abs(difference) < TOLERATED_SKEW_MS ? 0 : difference;
}

/** Returns the server's time in milliseconds, as far as this browser knows it. */
export function serverNow(): number {
  return Date.now() + skewMs;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  now ??= serverNow();
  timer ??= setInterval(() => {
    if (document.hidden) return;
    now = serverNow();
    for (const notify of listeners) notify();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
    now = null;
  };
}

/**
 * When the server rendered the page. The first render in the browser uses this time, so that both renders are equal.
 */
export const RenderedAt = createContext(0);

/** Returns the server's time in milliseconds, updated once a second. */
export function useNow(): number {
  const renderedAt = useContext(RenderedAt);
  return useSyncExternalStore(subscribe, snapshot, () => renderedAt);
}

/** Returns true after hydration. Values that only the browser knows (its time zone) must not be shown before. */
export function useHydrated(): boolean {
  return useSyncExternalStore(
    () => () => {},
    () => true,
    () => false,
  );
}

function snapshot(): number {
  now ??= serverNow();
  return now;
}
