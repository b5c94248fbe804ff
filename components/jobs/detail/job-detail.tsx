/*
 * One job: its state, attempts, output, steps, artifacts and dependencies, and the actions on it. An ended job is no
 * longer polled; a pushed change still refreshes it. Panels that appear while the page is open go below the tabs, where
 * they move nothing.
 *
 * Start with the page below, then `job-headline.tsx` and `job-tabs.tsx`.
 */

"use client";

import { useQuery } from "@tanstack/react-query";
import { parseAsStringLiteral, useQueryState } from "nuqs";
import { BackLink } from "@/components/ui/back-link";
import { CopyButton } from "@/components/ui/copy-button";
import { QueryProblem } from "@/components/ui/states";
import { useShortcuts } from "@/components/ui/use-shortcuts";
import { jobKeys, jobOptions } from "@/lib/client/jobs/jobs";
import { useLive, usePollInterval } from "@/lib/client/live/use-live";
import { useRefresh } from "@/lib/client/live/use-refresh";
import { useFirst } from "@/lib/client/use-first";
import type { Job } from "@/lib/contract";
import { isTerminal } from "@/lib/queue/states";
import { ChainPanel } from "../../chain/chain-panel";
import { PageLiveIndicator } from "../../shell/live-indicator";
import { useTenant } from "../../shell/viewer";
import { useJobActions } from "../job-actions";
import { hasSourcePage, JobSourceLine } from "../job-source";
import { RetryLinks } from "../retry-links";
import { DependenciesPanel, type PanelPosition } from "./dependencies-panel";
import { HeaderActions } from "./header-actions";
import { JobHeadline } from "./job-headline";
import { JobSkeleton } from "./job-skeleton";
import { JOB_TABS, JobTabs } from "./job-tabs";

/** One job: what happened, why, and what can be done. */
export function JobDetail({ id }: { readonly id: string }) {
  const { slug } = useTenant();
  const poll = usePollInterval();
  const query = useQuery({
    ...jobOptions(slug, id),
    refetchInterval: (one) => (one.state.data && isTerminal(one.state.data.status) ? false : poll(one)),
  });
  useRefresh(jobKeys.one(slug, id), (change) => change.id === id);
  if (query.data) return <LoadedJob job={query.data} failed={query.isError} />;
  if (query.isPending) return <JobSkeleton />;
  return (
    <div className="flex flex-col gap-4">
      <BackLink href={`/t/${slug}/jobs`}>Jobs</BackLink>
      <div className="panel">
        <h1 className="sr-only">Job</h1>
        <QueryProblem query={query} />
      </div>
    </div>
  );
}

function LoadedJob({ job, failed }: { readonly job: Job; readonly failed: boolean }) {
  const live = useLive();
  const [tab, setTab] = useQueryState(
    "tab",
    parseAsStringLiteral(JOB_TABS).withDefault("attempts").withOptions({ history: "replace" }),
  );
  const actions = useJobActions();
  const wasRetried = useFirst(job.retried_by_id !== null) === true;
  useShortcuts({
    r: () => actions.run("retry", job),
    c: () => actions.run("cancel", job),
    l: () => void setTab("output"),
    ".": () => live?.setPaused(live.state !== "paused"),
  });
  return (
    <div className="flex flex-col gap-4">
      <TopLine retriedBy={wasRetried ? null : job.retried_by_id} failed={failed} />
      <header className="flex flex-wrap items-start gap-x-4 gap-y-3">
        <div className="min-w-0 flex-1 basis-64">
          <h1 className="truncate font-semibold text-xl tracking-tight">{job.definition_key}</h1>
          <p className="flex items-center text-muted text-xs">
            <code className="truncate font-mono">{job.id}</code>
            <CopyButton text={job.id} label="Copy job id" />
          </p>
          {hasSourcePage(job) ? (
            <p className="text-muted text-xs">
              Started by <JobSourceLine job={job} />
            </p>
          ) : null}
          <RetryLinks retryOf={job.retried_from_id} retriedBy={wasRetried ? job.retried_by_id : null} />
        </div>
        <HeaderActions job={job} actions={actions} />
      </header>
      <JobHeadline job={job} />
      <LinkPanels job={job} position="top" />
      <JobTabs job={job} tab={tab} onChange={(chosen) => void setTab(chosen)} />
      <LinkPanels job={job} position="bottom" />
      {actions.question}
    </div>
  );
}

/** The line above the heading. Messages that come later appear in it, where they move nothing. */
function TopLine({ retriedBy, failed }: { readonly retriedBy: string | null; readonly failed: boolean }) {
  const { slug } = useTenant();
  return (
    <div className="flex h-7 items-center gap-4">
      <BackLink href={`/t/${slug}/jobs`}>Jobs</BackLink>
      <RetryLinks retriedBy={retriedBy} />
      <p className="min-w-0 flex-1 truncate text-sm text-warn">
        {failed ? "Could not refresh. The data shown may be out of date." : null}
      </p>
      <PageLiveIndicator />
    </div>
  );
}

function LinkPanels({ job, position }: { readonly job: Job; readonly position: PanelPosition }) {
  return (
    <>
      <DependenciesPanel job={job} position={position} />
      <ChainPanel
        correlation={job.correlation_id ?? job.id}
        current={job.id}
        first={job.correlation_id === null ? job : undefined}
        position={position}
      />
    </>
  );
}
