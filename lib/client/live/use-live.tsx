"use client";

import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { isAbsent } from "../http";
import { usePreference } from "../preferences";
import { LiveFeed, type LiveListener, type LiveState } from "./live-feed";

const POLL_MS = { normal: 5000, most: 60_000 } as const;

interface Live {
  readonly feed: LiveFeed;
  readonly state: LiveState;
  readonly setPaused: (paused: boolean) => void;
}

const LiveContext = createContext<Live | null>(null);

/** Holds the live feed of one tenant for the pages below. */
export function LiveProvider({
  tenant,
  userId,
  children,
}: {
  readonly tenant: string;
  readonly userId: string;
  readonly children: ReactNode;
}) {
  const feed = useMemo(() => new LiveFeed(tenant, userId), [tenant, userId]);
  const [choice, choose] = usePreference("live", ["on", "paused"]);
  useEffect(() => {
    feed.start();
    return () => feed.stop();
  }, [feed]);
  useEffect(() => feed.setPaused(choice === "paused"), [feed, choice]);
  const state = useSyncExternalStore(
    (listener) => feed.onState(listener),
    () => feed.state,
    () => "connecting" as const,
  );
  const value = useMemo(
    () => ({ feed, state, setPaused: (paused: boolean) => choose(paused ? "paused" : "on") }),
    [feed, state, choose],
  );
  return <LiveContext value={value}>{children}</LiveContext>;
}

/** The live feed; null on pages that have none. */
export function useLive(): Live | null {
  return useContext(LiveContext);
}

/** Calls the listener of the latest render with what the feed brings. */
export function useLiveListener(listener: LiveListener): void {
  const live = useLive();
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(
    () =>
      live?.feed.listen({
        onChange: (change) => latest.current.onChange?.(change),
        onSummary: (summary) => latest.current.onSummary?.(summary),
        onResync: () => latest.current.onResync?.(),
      }),
    [live?.feed],
  );
}

/** Of lists that also change without a job: slow enough for an idle page, which sends four requests a minute at most. */
export const IDLE_POLL_MS = 30_000;

/**
 * How often to poll, for `refetchInterval`: every few seconds without the stream and slower after each failure, not at
 * all while paused. While the stream is live, only as often as `whileLiveMs` says: for what changes without a job. What
 * does not exist is not asked for again.
 */
export function usePollInterval(
  whileLiveMs: number | false = false,
): (query: { state: { error: Error | null; errorUpdateCount: number; status: string } }) => number | false {
  const live = useLive();
  return (query) => {
    if (live?.state === "paused" || isAbsent(query.state.error)) return false;
    if (live?.state === "live") return whileLiveMs;
    const failures = query.state.status === "error" ? query.state.errorUpdateCount : 0;
    return Math.min(POLL_MS.normal * 2 ** Math.min(failures, 4), POLL_MS.most);
  };
}
