import { createContext, useContext, useSyncExternalStore } from "react";

/** A browser clock that is off by less than this is left alone: the Date header only counts whole seconds. */
const TOLERATED_SKEW_MS = 2000;
const TICK_MS = 1000;

let skewMs = 0;
let now: number | null = null;
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

/** Learns from an answer's Date header how far this browser's clock is from the server's. */
export function noteServerDate(header: string | null): void {
  const date = header === null ? Number.NaN : Date.parse(header);
  if (Number.isNaN(date)) return;
  const difference = date - Date.now();
  skewMs = Math.abs(difference) < TOLERATED_SKEW_MS ? 0 : difference;
}

/** The server's time as well as this browser knows it, in milliseconds. */
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

/** When the server rendered the page: what the first render in the browser takes for now, so that both say the same. */
export const RenderedAt = createContext(0);

/** The server's time in milliseconds, ticking once a second. */
export function useNow(): number {
  const renderedAt = useContext(RenderedAt);
  return useSyncExternalStore(subscribe, snapshot, () => renderedAt);
}

/** Whether the browser has taken over: what only it knows (its zone) must not be shown before. */
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
