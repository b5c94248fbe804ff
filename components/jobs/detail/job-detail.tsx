"use client";

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { ArrowLeft } from "lucide-react";
import { parseAsStringLiteral, useQueryState } from "nuqs";
import { Tabs } from "radix-ui";
import { CopyButton } from "@/components/ui/copy-button";
import { JsonView } from "@/components/ui/json-view";
import { Link } from "@/components/ui/link";
import { ProblemPanel } from "@/components/ui/states";
import { useShortcuts } from "@/components/ui/use-shortcuts";
import { isAbsent } from "@/lib/client/http";
import { attemptsOptions, jobKeys, jobOptions } from "@/lib/client/jobs/jobs";
import { useLive, usePollInterval } from "@/lib/client/live/use-live";
import { useRefresh } from "@/lib/client/live/use-refresh";
import { useFirst } from "@/lib/client/use-first";
import type { Job } from "@/lib/contract";
import { isTerminal } from "@/lib/queue/states";
import { ChainPanel } from "../../chain/chain-panel";
import { LiveIndicator } from "../../shell/live-indicator";
import { useTenant } from "../../shell/viewer";
import { useActOnJob } from "../job-actions";
import { hasSourcePage, JobSourceLine } from "../job-source";
import { RetryLinks } from "../retry-links";
import { ArtifactsTab } from "./artifacts-tab";
import { AttemptsTab } from "./attempts-tab";
import { DependenciesPanel, type PanelPlace } from "./dependencies-panel";
import { DetailsTab } from "./details-tab";
import { HeaderActions } from "./header-actions";
import { JobHeadline } from "./job-headline";
import { JobSkeleton } from "./job-skeleton";
import { OutputTab } from "./output-tab";
import { StepsPanel } from "./steps-panel";

const TABS = ["attempts", "output", "artifacts", "data", "details"] as const;
const TAB_NAMES = {
  attempts: "Attempts",
  output: "Output",
  artifacts: "Artifacts",
  data: "Input and result",
  details: "Details",
} as const;

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
  const absent = isAbsent(query.error);
  return (
    <div className="flex flex-col gap-4">
      <BackLink slug={slug} />
      <div className="panel">
        <h1 className="sr-only">Job</h1>
        <ProblemPanel
          error={query.error}
          onRetry={absent ? undefined : () => query.refetch()}
          busy={query.isFetching}
        />
      </div>
    </div>
  );
}

function BackLink({ slug }: { readonly slug: string }) {
  return (
    <Link
      href={`/t/${slug}/jobs`}
      className="inline-flex min-h-6 items-center gap-1.5 text-muted text-sm hover:text-ink"
    >
      <ArrowLeft aria-hidden className="size-3.5" />
      Jobs
    </Link>
  );
}

function LoadedJob({ job, failed }: { readonly job: Job; readonly failed: boolean }) {
  const { slug } = useTenant();
  const live = useLive();
  const poll = usePollInterval();
  const attempts = useInfiniteQuery({
    ...attemptsOptions(slug, job.id),
    refetchInterval: isTerminal(job.status) ? false : poll,
  });
  const [tab, setTab] = useQueryState(
    "tab",
    parseAsStringLiteral(TABS).withDefault("attempts").withOptions({ history: "replace" }),
  );
  const actions = useActOnJob();
  const wasLive = useFirst(!isTerminal(job.status));
  const wasRetried = useFirst(job.retried_by_id !== null);
  useShortcuts({
    r: () => actions.act("retry", job),
    c: () => actions.act("cancel", job),
    l: () => void setTab("output"),
    ".": () => live?.setPaused(live.state !== "paused"),
  });
  return (
    <div className="flex flex-col gap-4">
      {/* Later messages appear in this line, where they move nothing. */}
      <div className="flex h-7 items-center gap-4">
        <BackLink slug={slug} />
        {wasRetried ? null : <RetryLinks retriedBy={job.retried_by_id} />}
        <p className="min-w-0 flex-1 truncate text-sm text-warn">
          {failed ? "Could not refresh. The data shown may be out of date." : null}
        </p>
        <span className="hidden lg:block">
          <LiveIndicator />
        </span>
      </div>
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
      <LinkPanels job={job} place="top" />
      <Tabs.Root
        value={tab}
        onValueChange={(value) => void setTab(TABS.find((known) => known === value) ?? "attempts")}
      >
        <Tabs.List
          aria-label="About this job"
          className="flex gap-5 overflow-x-auto border-line border-b max-sm:justify-between max-sm:gap-2"
        >
          {TABS.map((name) => (
            <Tabs.Trigger
              key={name}
              value={name}
              className="-mb-px h-10 shrink-0 border-transparent border-b-2 text-muted text-sm hover:text-ink data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-ink"
            >
              {TAB_NAMES[name]}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <Tabs.Content value="attempts" className="pt-4 outline-offset-4">
          <AttemptsTab query={attempts} job={job} />
        </Tabs.Content>
        <Tabs.Content value="output" className="pt-4 outline-offset-4">
          <OutputTab job={job} attempts={attempts.data?.pages.flatMap((page) => page.data) ?? []} />
        </Tabs.Content>
        <Tabs.Content value="artifacts" className="pt-4 outline-offset-4">
          <ArtifactsTab job={job} />
        </Tabs.Content>
        <Tabs.Content value="data" className="grid gap-4 pt-4 outline-offset-4 lg:grid-cols-2">
          <JsonView title="Payload" value={job.payload} empty="The job has no payload." />
          <JsonView
            title="Result"
            className={wasLive ? "h-48" : undefined}
            value={job.result}
            empty={isTerminal(job.status) ? "The job has no result." : "No result yet."}
          />
          <StepsPanel job={job} />
          {job.definition_key === "import-csv" && job.status === "succeeded" ? (
            <p className="text-sm">
              <Link href={`/t/${slug}/assets#lists`} className="text-accent underline">
                Imported lists
              </Link>
            </p>
          ) : null}
        </Tabs.Content>
        <Tabs.Content value="details" className="pt-4 outline-offset-4">
          <DetailsTab job={job} />
        </Tabs.Content>
      </Tabs.Root>
      <LinkPanels job={job} place="bottom" />
      {actions.question}
    </div>
  );
}

function LinkPanels({ job, place }: { readonly job: Job; readonly place: PanelPlace }) {
  return (
    <>
      <DependenciesPanel job={job} place={place} />
      <ChainPanel
        correlation={job.correlation_id ?? job.id}
        current={job.id}
        first={job.correlation_id === null ? job : undefined}
        place={place}
      />
    </>
  );
}
