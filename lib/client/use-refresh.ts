"use client";

import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useLive, useLiveListener } from "./use-live";

const AT_MOST_EVERY_MS = 1000;
const POLL_MS = 5000;

/**
 * Reads a part of the page again when jobs of the tenant change, at most once a second. Answers the interval to poll in
 * for what changes without a job; false while the page is paused.
 */
export function useRefresh(queryKey: QueryKey): number | false {
  const client = useQueryClient();
  const state = useLive()?.state;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const refresh = () => void client.invalidateQueries({ queryKey });
  useLiveListener({
    onChange: () => {
      timer.current ??= setTimeout(() => {
        timer.current = undefined;
        refresh();
      }, AT_MOST_EVERY_MS);
    },
    onResync: refresh,
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return state === "paused" ? false : POLL_MS;
}
