"use client";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { useAnnounce } from "@/components/ui/announcer";
import { plural } from "@/lib/client/format";
import { filterKey, JOBS_PER_PAGE, type JobFilters } from "@/lib/client/job-filters";
import { applyChange, jobKeys, jobListOptions, jobSummaryOptions } from "@/lib/client/jobs";
import { mergePage, type ShownRows } from "@/lib/client/merge-page";
import { useLiveListener, usePollInterval } from "@/lib/client/use-live";
import type { JobChange, JobList, JobSummary } from "@/lib/contract";
import { isTerminal } from "@/lib/queue/states";

/** Pushed changes of a burst are answered with one fetch, and a busy tenant with one in this time. */
const REFRESH_MS = { soon: 400, least: 2000 } as const;

/** What the server already knew when it rendered the page. */
export interface FirstJobs {
  /** Of the filters that the list is for. */
  readonly key: string;
  readonly list: JobList;
  readonly summary: JobSummary;
}

const NONE: ShownRows = { rows: [], waiting: [], gone: new Set() };

/**
 * The rows on the screen, kept fresh. Rows that are known change where they stand; new ones come in on top while the
 * reader does not point at the table, and wait to be asked for otherwise.
 */
export function useJobList(tenant: string, filters: JobFilters, first: FirstJobs | null) {
  const poll = usePollInterval();
  const key = filterKey(filters);
  const age = first ? { initialDataUpdatedAt: Date.parse(first.summary.as_of) } : {};
  const query = useQuery({
    ...jobListOptions(tenant, filters),
    initialData: first?.key === key ? first.list : undefined,
    ...age,
    refetchInterval: poll,
  });
  const summary = useQuery({
    ...jobSummaryOptions(tenant),
    initialData: first?.summary,
    ...age,
    refetchInterval: poll,
  });
  const held = useRef({ pointer: false, focus: false });
  const [shown, setShown] = useShown(query.data, key, filters.cursor === null, held);
  const refresh = useRefresh(tenant);
  useJobEvents({ tenant, filters, shown, setShown, refresh });

  const showWaiting = useCallback(() => {
    if (query.data) setShown({ ...NONE, rows: query.data.data });
  }, [query.data, setShown]);
  const release = useCallback(() => {
    if (held.current.pointer || held.current.focus) return;
    setShown((now) =>
      now.waiting.length === 0
        ? now
        : { ...now, rows: [...now.waiting, ...now.rows].slice(0, JOBS_PER_PAGE), waiting: [] },
    );
  }, [setShown]);
  return { query, summary, shown, showWaiting, held, release };
}

type SetShown = (next: ShownRows | ((now: ShownRows) => ShownRows)) => void;

function useShown(
  data: JobList | undefined,
  key: string,
  newestPage: boolean,
  held: { current: { pointer: boolean; focus: boolean } },
): [ShownRows, SetShown] {
  const [state, setState] = useState<{ key: string; data: JobList | undefined; shown: ShownRows }>(() => ({
    key,
    data,
    shown: data ? { ...NONE, rows: data.data } : NONE,
  }));
  const setShown = useCallback<SetShown>(
    (next) => setState((now) => ({ ...now, shown: typeof next === "function" ? next(now.shown) : next })),
    [],
  );
  if (state.key === key && state.data === data) return [state.shown, setShown];
  const isSameList = state.key === key && state.shown.rows.length > 0;
  const insert = newestPage && !held.current.pointer && !held.current.focus;
  const shown = !data
    ? NONE
    : isSameList
      ? mergePage(state.shown.rows, data.data, { insert, limit: JOBS_PER_PAGE })
      : { ...NONE, rows: data.data };
  setState({ key, data, shown: newestPage ? shown : { ...shown, waiting: [] } });
  return [shown, setShown];
}

function useRefresh(tenant: string): () => void {
  const client = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const last = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(() => {
    timer.current ??= setTimeout(
      () => {
        timer.current = undefined;
        last.current = Date.now();
        void client.invalidateQueries({ queryKey: jobKeys.lists(tenant) });
      },
      Math.max(REFRESH_MS.soon, REFRESH_MS.least - (Date.now() - last.current)),
    );
  }, [client, tenant]);
}

interface JobEvents {
  readonly tenant: string;
  readonly filters: JobFilters;
  readonly shown: ShownRows;
  readonly setShown: SetShown;
  readonly refresh: () => void;
}

function useJobEvents({ tenant, filters, shown, setShown, refresh }: JobEvents): void {
  const client = useQueryClient();
  const announce = useAnnounce();
  useLiveListener({
    onChange: (change) => {
      const known = shown.rows.some((row) => row.id === change.id);
      if (known) setShown((now) => ({ ...now, rows: now.rows.map((row) => applyChange(row, change)) }));
      if (known || filters.cursor === null) refresh();
      announceEnd(change, announce);
    },
    onSummary: (summary) => client.setQueryData(jobKeys.summary(tenant), summary),
    onResync: () => void client.invalidateQueries({ queryKey: jobKeys.all(tenant) }),
  });
}

function announceEnd(change: JobChange, announce: ReturnType<typeof useAnnounce>): void {
  if (!isTerminal(change.status)) return;
  if (change.status === "succeeded") announce("finished", (count) => `${plural(count, "job")} finished`);
  else announce("failed", (count) => `${plural(count, "job")} ended without success`);
}
