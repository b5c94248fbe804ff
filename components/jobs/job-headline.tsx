"use client";

import type { ReactNode } from "react";
import { Plain } from "@/components/ui/plain";
import { Elapsed, Time } from "@/components/ui/time";
import { attemptsSoFar } from "@/lib/client/jobs";
import type { Job } from "@/lib/contract";
import { ErrorText } from "./error-text";
import { StatusBadge } from "./status";
import { Duration } from "./wait-line";

/** The state of the job in one strip, and below it what it waits for, how far it is, or why it failed. */
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

function Explanation({ job }: { readonly job: Job }) {
  if (job.status === "running") return <Progress job={job} />;
  if (job.wait_reason) {
    return (
      <p className="border-line border-t px-4 py-2.5 text-sm">
        <span className="text-muted">Waiting: </span>
        <Plain text={job.wait_reason.detail} />
        {job.wait_reason.until ? (
          <span className="text-muted">
            {" · "}
            <Time value={job.wait_reason.until} />
          </span>
        ) : null}
      </p>
    );
  }
  if (job.last_error && job.status !== "succeeded") {
    return (
      <div className="border-line border-t bg-bad-soft px-4 py-2.5">
        <ErrorText type={job.error_type} text={job.last_error} />
      </div>
    );
  }
  return null;
}

function Progress({ job }: { readonly job: Job }) {
  const { progress } = job;
  return (
    <div className="flex items-center gap-4 border-line border-t px-4 py-2.5">
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
