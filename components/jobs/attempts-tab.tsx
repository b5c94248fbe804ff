"use client";

import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import { History } from "lucide-react";
import { Button } from "@/components/ui/button";
import { Plain } from "@/components/ui/plain";
import { Empty, ProblemPanel, Skeleton } from "@/components/ui/states";
import { Elapsed, Time } from "@/components/ui/time";
import { useNow } from "@/lib/client/clock";
import { formatBytes, formatDuration } from "@/lib/client/format";
import type { Attempt, AttemptList, Job } from "@/lib/contract";
import { isTerminal } from "@/lib/queue/states";
import { ErrorText } from "./error-text";
import { OutcomeBadge } from "./status";

interface AttemptsTabProps {
  readonly query: UseInfiniteQueryResult<InfiniteData<AttemptList>>;
  readonly job: Job;
}

/** The attempts of the job over all its runs, newest first, fifty at a time. */
export function AttemptsTab({ query, job }: AttemptsTabProps) {
  if (query.isPending) return <Skeleton className="h-32 w-full rounded-lg" />;
  if (!query.data) {
    return (
      <div className="panel">
        <ProblemPanel error={query.error} onRetry={() => query.refetch()} busy={query.isFetching} />
      </div>
    );
  }
  const attempts = query.data.pages.flatMap((page) => page.data);
  if (attempts.length === 0) {
    return (
      <div className="panel">
        <Empty icon={History} title="No attempt yet">
          <p>{whyNone(job)}</p>
        </Empty>
      </div>
    );
  }
  return (
    <>
      <ol className="flex flex-col gap-2">
        {attempts.map((attempt) => (
          <AttemptCard key={attempt.id} attempt={attempt} runs={job.run_no} />
        ))}
      </ol>
      {query.hasNextPage ? (
        <Button className="mt-3" busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          Show older attempts
        </Button>
      ) : null}
    </>
  );
}

function whyNone({ status }: Job): string {
  if (isTerminal(status)) return "The job ended before a worker took it.";
  return status === "blocked" ? "The job waits for other jobs." : "A worker has not taken the job yet.";
}

function AttemptCard({ attempt, runs }: { readonly attempt: Attempt; readonly runs: number }) {
  return (
    <li className="panel overflow-hidden">
      <div className="flex flex-wrap items-center gap-x-5 gap-y-1.5 px-4 py-2.5 text-sm">
        <h2 className="tabular w-8 font-semibold">#{attempt.attempt_no}</h2>
        <OutcomeBadge outcome={attempt.status} />
        <span>
          {attempt.started_at ? (
            <Elapsed from={attempt.started_at} to={attempt.finished_at} />
          ) : (
            <span className="text-muted">not started</span>
          )}
        </span>
        {attempt.started_at ? (
          <span className="text-muted">
            <Time value={attempt.started_at} />
          </span>
        ) : null}
        {runs > 1 ? <span className="text-muted">run {attempt.run_no}</span> : null}
        <span className="text-muted">{exitOf(attempt)}</span>
        <span className="ml-auto min-w-0 truncate font-mono text-muted text-xs" title="Worker">
          <Plain text={attempt.worker_id ?? ""} />
        </span>
      </div>
      {attempt.error_text ? (
        <div className="border-line border-t bg-sunken px-4 py-2">
          <ErrorText type={attempt.error_type} text={attempt.error_text} />
        </div>
      ) : null}
      {attempt.progress?.message ? (
        <p className="border-line border-t px-4 py-1.5 text-muted text-xs">
          Last progress: <Plain text={attempt.progress.message} />
        </p>
      ) : null}
      <Footnote attempt={attempt} />
    </li>
  );
}

function exitOf(attempt: Attempt): string {
  if (attempt.signal) return `signal ${attempt.signal}`;
  return attempt.exit_code === null ? "" : `exit ${attempt.exit_code}`;
}

function Footnote({ attempt }: { readonly attempt: Attempt }) {
  const now = useNow();
  const next = attempt.retry_at !== null && Date.parse(attempt.retry_at) > now ? attempt.retry_at : null;
  const printed = (attempt.stdout_bytes ?? 0) + (attempt.stderr_bytes ?? 0);
  const notes = [
    attempt.pid === null ? "" : `process ${attempt.pid}`,
    printed > 0 ? `${formatBytes(printed)} printed` : "",
    attempt.dropped_bytes ? `${formatBytes(attempt.dropped_bytes)} of it not kept` : "",
    attempt.cpu_ms === null ? "" : `${formatDuration(attempt.cpu_ms)} of processor time`,
    attempt.peak_rss_bytes === null ? "" : `${formatBytes(attempt.peak_rss_bytes)} of memory at most`,
    attempt.claimed_at && attempt.started_at
      ? `started ${formatDuration(Date.parse(attempt.started_at) - Date.parse(attempt.claimed_at))} after its claim`
      : "",
  ].filter(Boolean);
  if (notes.length === 0 && next === null) return null;
  return (
    <p className="border-line border-t px-4 py-1.5 text-muted text-xs">
      {notes.join(" · ")}
      {next !== null ? (
        <>
          {notes.length > 0 ? " · " : ""}next attempt <Time value={next} />
        </>
      ) : null}
    </p>
  );
}
