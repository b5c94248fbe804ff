"use client";

import { Elapsed, Time } from "@/components/ui/time";
import type { JobRow, WaitReason } from "@/lib/contract";

const SHORT: Readonly<Record<WaitReason["code"], string>> = {
  scheduled: "starts",
  retry_backoff: "retries",
  no_worker: "no worker for it",
  at_limit: "at a limit",
  rate_limited: "at a limit of starts",
  position: "in line",
  paused: "paused",
  suspended: "the tenant is suspended",
  blocked: "waits for other jobs",
};

/** A job's timing in a few words: how long it ran, or what it waits for. */
export function Duration({ job }: { readonly job: JobRow }) {
  if (job.started_at !== null && (job.status === "running" || job.finished_at !== null)) {
    return <Elapsed from={job.started_at} to={job.finished_at} />;
  }
  if (job.finished_at !== null) return <span className="text-muted">never ran</span>;
  return <Wait job={job} />;
}

function Wait({ job }: { readonly job: JobRow }) {
  const reason = job.wait_reason;
  if (reason?.until) {
    return (
      <span className="text-muted" title={reason.detail}>
        {SHORT[reason.code]} <Time value={reason.until} />
      </span>
    );
  }
  return (
    <span className="text-muted" title={reason?.detail}>
      {reason ? SHORT[reason.code] : "waits"}
    </span>
  );
}
