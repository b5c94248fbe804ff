"use client";

import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import { History } from "lucide-react";
import { useMemo } from "react";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { ShowNewest } from "@/components/ui/lists/show-newest";
import { Plain } from "@/components/ui/plain";
import { Empty, QueryProblem, Skeleton } from "@/components/ui/states";
import { Elapsed, Time } from "@/components/ui/time";
import { useNow } from "@/lib/client/clock";
import { formatBytes, formatDuration } from "@/lib/client/format";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useFirst } from "@/lib/client/use-first";
import type { Attempt, AttemptList, Job } from "@/lib/contract";
import { isTerminal } from "@/lib/queue/states";
import { ErrorText, FoldedError } from "../error-text";
import { OutcomeBadge } from "../status";

interface AttemptsTabProps {
  readonly query: UseInfiniteQueryResult<InfiniteData<AttemptList>>;
  readonly job: Job;
}

/**
 * The attempts of the job over all its runs, newest first, fifty at a time. An attempt that begins while the page is
 * open waits until the user asks for it, unless it follows the user's own action.
 */
export function AttemptsTab({ query, job }: AttemptsTabProps) {
  const pages = query.data?.pages;
  const latest = useMemo(() => pages?.flatMap((page) => page.data), [pages]);
  const { rows, shown, showWaiting } = usePinnedRows(latest, job.id, { grows: true, followsOwnChanges: true });
  if (query.isPending) return <Skeleton className="h-32 w-full rounded-lg" />;
  if (!rows) {
    return (
      <div className="panel">
        <QueryProblem query={query} />
      </div>
    );
  }
  if (rows.length === 0) {
    return (
      <div key="none" className="panel">
        <Empty icon={History} title={isTerminal(job.status) ? "No attempts" : "No attempt yet"}>
          <p>{whyNone(job)}</p>
        </Empty>
      </div>
    );
  }
  return (
    <>
      <div className="-mt-2 mb-2 flex h-7 items-center justify-between">
        <p className="text-muted text-xs">Newest first</p>
        <ShowNewest noun="attempt" waiting={shown.waiting.length} onShow={() => showWaiting()} />
      </div>
      <ol className="flex flex-col gap-2">
        {rows.map((attempt) => (
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
  // An attempt that ends while the page is open keeps its height, so that the attempts below do not move.
  const wasOpen = useFirst(attempt.finished_at === null) === true;
  return (
    <li className="panel overflow-hidden">
      <div className="flex flex-wrap items-center gap-x-5 gap-y-1.5 px-4 py-2.5 text-sm">
        <h2 className="tabular w-8 font-semibold">#{attempt.attempt_no}</h2>
        <OutcomeBadge outcome={attempt.status} />
        {attempt.started_at ? (
          <Elapsed from={attempt.started_at} to={attempt.finished_at} />
        ) : (
          <span className="text-muted">not started</span>
        )}
        <div className="flex min-w-0 flex-1 gap-x-5 whitespace-nowrap text-muted max-sm:basis-full">
          {attempt.started_at ? <Time value={attempt.started_at} /> : null}
          {runs > 1 ? <span>run {attempt.run_no}</span> : null}
          <span>{exitOf(attempt)}</span>
          <span className="ml-auto truncate font-mono text-xs leading-5" title="Worker">
            <Plain text={attempt.worker_id ?? ""} />
          </span>
        </div>
      </div>
      {wasOpen ? <NewsLine attempt={attempt} /> : <Story attempt={attempt} />}
      <Footnote attempt={attempt} oneLine={wasOpen} />
    </li>
  );
}

const LINE = "h-8 px-4";

/** The progress or the error of an attempt that ran while the page was open, in one line. */
function NewsLine({ attempt: { error_text: error, error_type: type, progress } }: { readonly attempt: Attempt }) {
  return (
    <div className="border-line border-t bg-sunken">
      {error ? (
        <FoldedError className={LINE} type={type} text={error} />
      ) : (
        <p className={`${LINE} truncate text-muted text-xs leading-8`}>
          <Plain oneLine text={progress?.message ?? ""} />
        </p>
      )}
    </div>
  );
}

function Story({ attempt }: { readonly attempt: Attempt }) {
  return (
    <>
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
    </>
  );
}

function exitOf(attempt: Attempt): string {
  if (attempt.signal) return `signal ${attempt.signal}`;
  return attempt.exit_code === null ? "" : `exit ${attempt.exit_code}`;
}

function Footnote({ attempt, oneLine }: { readonly attempt: Attempt; readonly oneLine: boolean }) {
  const now = useNow();
  const next = attempt.retry_at !== null && Date.parse(attempt.retry_at) > now ? attempt.retry_at : null;
  const printed = (attempt.stdout_bytes ?? 0) + (attempt.stderr_bytes ?? 0);
  const notes = [
    attempt.pid === null ? "" : `process ${attempt.pid}`,
    printed > 0 ? `${formatBytes(printed)} printed` : "",
    attempt.dropped_bytes ? `${formatBytes(attempt.dropped_bytes)} of it not stored` : "",
    attempt.cpu_ms === null ? "" : `${formatDuration(attempt.cpu_ms)} of processor time`,
    attempt.peak_rss_bytes === null ? "" : `${formatBytes(attempt.peak_rss_bytes)} of memory at most`,
    attempt.claimed_at && attempt.started_at
      ? `started ${formatDuration(Date.parse(attempt.started_at) - Date.parse(attempt.claimed_at))} after its claim`
      : "",
  ].filter(Boolean);
  if (notes.length === 0 && next === null && !oneLine) return null;
  return (
    <p className={cn("border-line border-t px-4 text-muted text-xs", oneLine ? "h-8 truncate leading-8" : "py-1.5")}>
      {notes.join(" · ")}
      {next !== null ? (
        <>
          {notes.length > 0 ? " · " : ""}next attempt <Time value={next} />
        </>
      ) : null}
    </p>
  );
}
