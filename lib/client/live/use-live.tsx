"use client";

import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { isAbsent } from "../http";
import { usePreference } from "../preferences";
import { type FeedState, LiveFeed, type LiveListener } from "./live-feed";

const POLL_MS = { normal: 5000, most: 60_000 } as const;

interface Live {
  readonly feed: LiveFeed;
  readonly state: FeedState;
  readonly setPaused: (paused: boolean) => void;
}

const LiveContext = createContext<Live | null>(null);

/** Provides the live feed of one tenant to the pages below. */
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

/** Returns the live feed; null on pages without one. */
export function useLive(): Live | null {
  return useContext(LiveContext);
}

/** Calls the listener of the latest render for each message of the feed. */
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

/**
 * For lists that also change without a job. Slow enough for an idle page, which sends at most four requests a minute.
 */
export const IDLE_POLL_MS = 30_000;

/**
 * Returns the poll interval, for `refetchInterval`. Without the stream: every few seconds, slower after each failure.
 * While paused: never. While the stream is live: `whileLiveMs`, for data that changes without a job. After a 404:
 * never.
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
