"use client";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useAnnounce } from "@/components/ui/announcer";
import { plural } from "@/lib/client/format";
import { filterKey, type JobFilters } from "@/lib/client/jobs/job-filters";
import { applyChange, jobKeys, jobListOptions, jobSummaryOptions } from "@/lib/client/jobs/jobs";
import { useLiveListener, usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useThrottledRefresh } from "@/lib/client/live/use-refresh";
import type { JobList, JobRow, JobSummary, JobUpdate } from "@/lib/contract";
import { isTerminal } from "@/lib/queue/states";

/** The data that the server rendered the page with. */
export interface FirstJobs {
  /** The key of the filters of this list. */
  readonly key: string;
  readonly list: JobList;
  readonly summary: JobSummary;
}

/**
 * The rows on the screen, kept fresh. Known rows are updated in place. New rows wait until the user asks for them,
 * because a row that is being read or pointed at must not move.
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
  const { shown, update, showWaiting } = usePinnedRows(query.data?.data, key);
  useJobEvents({ tenant, filters, rows: shown.rows, update });
  return { query, summary, shown, showWaiting };
}

interface JobEvents {
  readonly tenant: string;
  readonly filters: JobFilters;
  readonly rows: readonly JobRow[];
  readonly update: (how: (row: JobRow) => JobRow) => void;
}

function useJobEvents({ tenant, filters, rows, update }: JobEvents): void {
  const client = useQueryClient();
  const announce = useAnnounce();
  const refresh = useThrottledRefresh(jobKeys.lists(tenant));
  const refreshAll = useThrottledRefresh(jobKeys.all(tenant));
  useLiveListener({
    onChange: (change) => {
      const known = rows.some((row) => row.id === change.id);
      if (known) update((row) => applyChange(row, change));
      if (known || filters.cursor === null) refresh();
      announceEnd(change, announce);
    },
    onSummary: (summary) => client.setQueryData(jobKeys.summary(tenant), summary),
    onResync: refreshAll,
  });
}

function announceEnd(change: JobUpdate, announce: ReturnType<typeof useAnnounce>): void {
  if (!isTerminal(change.status)) return;
  if (change.status === "succeeded") announce("finished", (count) => `${plural(count, "job")} finished`);
  else announce("failed", (count) => `${plural(count, "job")} ended without success`);
}
