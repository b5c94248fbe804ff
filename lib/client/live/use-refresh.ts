"use client";

import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef } from "react";
import type { JobUpdate } from "@/lib/contract";
import { useLiveListener } from "./use-live";

/** A burst of changes causes one fetch after `soon`; a busy tenant causes one fetch per `least`. */
const REFRESH_MS = { soon: 400, least: 2000 } as const;

/** Returns a function that refetches `queryKey` soon, and at most once in two seconds however often it is called. */
export function useThrottledRefresh(queryKey: QueryKey): () => void {
  const client = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const last = useRef(0);
  const latestKey = useRef(queryKey);
  useEffect(() => {
    latestKey.current = queryKey;
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(() => {
    const later = () => {
      timer.current = setTimeout(run, Math.max(REFRESH_MS.soon, REFRESH_MS.least - (Date.now() - last.current)));
    };
    const run = () => {
      timer.current = undefined;
      last.current = Date.now();
      // A fetch in flight may have read before the change. Aborting it would starve the page on a slow server.
      if (client.isFetching({ queryKey: latestKey.current }) > 0) later();
      else void client.invalidateQueries({ queryKey: latestKey.current });
    };
    if (timer.current === undefined) later();
  }, [client]);
}

/**
 * Keeps a part of the page fresh: refetches it when jobs of the tenant change, at most once in two seconds. `concerns`
 * selects the relevant changes. Set `resync` to false for a part whose key is below one that is refetched anyway when
 * the stream opens. Every live page uses this hook or useThrottledRefresh.
 */
export function useRefresh(
  queryKey: QueryKey,
  concerns: (change: JobUpdate) => boolean = () => true,
  { resync = true }: { readonly resync?: boolean } = {},
): void {
  const refresh = useThrottledRefresh(queryKey);
  useLiveListener({ onChange: (change) => concerns(change) && refresh(), onResync: () => resync && refresh() });
}
