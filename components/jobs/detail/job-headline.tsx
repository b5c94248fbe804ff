"use client";

import { type ReactNode, useCallback } from "react";
import { cn } from "@/components/ui/cn";
import { Plain } from "@/components/ui/plain";
import { Elapsed, Time } from "@/components/ui/time";
import { attemptsSoFar } from "@/lib/client/jobs/jobs";
import { useFirst } from "@/lib/client/use-first";
import type { Job } from "@/lib/contract";
import { isTerminal } from "@/lib/queue/states";
import { ErrorText, FoldedError } from "../error-text";
import { StatusBadge } from "../status";
import { Duration } from "../wait-line";

/** The state of the job in one strip, and below it what the job waits for, its progress, or why it failed. */
export function JobHeadline({ job }: { readonly job: Job }) {
  return (
    <section aria-label="State" className="panel overflow-hidden">
      <dl className="grid grid-cols-2 gap-px bg-line sm:grid-cols-5">
        <Fact name="Status">
          <StatusBadge status={job.status} canceling={job.cancel_requested_at !== null} />
        </Fact>
        <Fact name="Attempts">
          <span className="tabular">
            {attemptsSoFar(job)} of {job.max_attempts}
            {job.run_no > 1 ? <span className="text-muted"> · run {job.run_no}</span> : null}
          </span>
        </Fact>
        <Fact name={job.status === "running" || job.finished_at !== null ? "Duration" : "Waiting"}>
          <Duration job={job} />
        </Fact>
        <Fact name="Waited">
          <Elapsed from={job.queued_at} to={job.started_at ?? job.finished_at} />
        </Fact>
        <Fact name="Created" wide>
          <Time value={job.queued_at} />
        </Fact>
      </dl>
      <Explanation job={job} />
    </section>
  );
}

function Fact({
  name,
  wide,
  children,
}: {
  readonly name: string;
  readonly wide?: boolean;
  readonly children: ReactNode;
}) {
  return (
    <div className={`min-w-0 bg-panel px-4 py-2.5 ${wide ? "max-sm:col-span-2" : ""}`}>
      <dt className="text-muted text-xs">{name}</dt>
      <dd className="flex h-6 items-center text-sm">{children}</dd>
    </div>
  );
}

/** A strip that keeps its initial height, so that nothing below moves when the job changes. */
function Explanation({ job }: { readonly job: Job }) {
  const keepHeight = useCallback((strip: HTMLElement | null) => {
    if (strip) strip.style.minHeight = `${strip.offsetHeight}px`;
  }, []);
  const wasLive = useFirst(!isTerminal(job.status));
  const error = job.wait_reason || job.status === "succeeded" ? null : job.last_error;
  return (
    <div ref={keepHeight} className={cn("border-line border-t", isTerminal(job.status) && error && "bg-bad-soft")}>
      {job.status === "running" ? (
        <Progress job={job} />
      ) : error && !wasLive ? (
        <div className="px-4 py-2.5">
          <ErrorText type={job.error_type} text={error} />
        </div>
      ) : error ? (
        <FoldedError className={STRIP} type={job.error_type} text={error} />
      ) : (
        // The first line keeps its position, even if the next text needs a second line.
        <p className={cn(STRIP, "flex items-center text-sm max-sm:items-start max-sm:pt-2")}>
          <span
            key={job.wait_reason?.detail}
            className="line-clamp-1 max-sm:line-clamp-2"
            title={job.wait_reason?.detail}
          >
            <Reason job={job} />
          </span>
        </p>
      )}
    </div>
  );
}

const STRIP = "h-11 px-4 max-sm:h-14";

function Reason({ job: { wait_reason: reason, finished_at: end } }: { readonly job: Job }) {
  if (reason) {
    return (
      <>
        {reason.code === "blocked" ? null : <span className="text-muted">Waiting: </span>}
        <Plain text={reason.detail} />
        {reason.until ? (
          <>
            {" "}
            {/* As wide for "in 1 h" as for "in 59 min", so that the text does not wrap differently over time. */}
            <span className="inline-block min-w-24 text-muted">
              {"· "}
              <Time value={reason.until} />
            </span>
          </>
        ) : null}
      </>
    );
  }
  if (end === null) return null;
  return (
    <span className="text-muted">
      Ended <Time value={end} />
    </span>
  );
}

function Progress({ job }: { readonly job: Job }) {
  const { progress } = job;
  return (
    <div className={cn(STRIP, "flex items-center gap-4")}>
      <progress aria-label="Progress" value={progress?.percent} max={100} className="meter flex-1" />
      <span className="tabular w-10 text-right text-sm">{progress ? `${Math.round(progress.percent)} %` : "–"}</span>
      {progress?.message ? (
        <span className="min-w-0 max-w-[50%] truncate text-muted text-sm">
          <Plain text={progress.message} />
        </span>
      ) : null}
    </div>
  );
}
