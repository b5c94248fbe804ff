"use client";

import { type ReactNode, useRef, useState } from "react";
import { ConfirmDialog } from "@/components/ui/forms/confirm-dialog";
import { useToast } from "@/components/ui/toast";
import { ApiError } from "@/lib/client/http";
import { type JobVerb, useJobAction } from "@/lib/client/jobs/jobs";
import type { Job, JobRow } from "@/lib/contract";
import { isCancelable, isPausable, isResumable, isRetryable } from "@/lib/queue/states";
import { useReason, useTenant } from "../shell/viewer";

export interface JobActions {
  /** Returns why the action is not possible, or null when it is. */
  readonly reasonAgainst: (action: JobVerb, job: JobRow) => string | null;
  /** Runs the action, after confirmation if work would be lost. */
  readonly run: (action: JobVerb, job: JobRow) => void;
  readonly busyId: string | null;
  /** The confirmation dialog; render it once. */
  readonly question: ReactNode;
}

/**
 * Cancel, retry, pause and resume, with their permissions, the confirmation before work is stopped, and the notices
 * afterwards.
 */
export function useJobActions(onDone?: (job: Job) => void): JobActions {
  const tenant = useTenant();
  const mutation = useJobAction(tenant.slug);
  const toast = useToast();
  const [asked, setAsked] = useState<JobRow | null>(null);
  const sending = useRef(false);
  const noCancel = useReason("jobs:cancel");
  const noRetry = useReason("jobs:retry");
  const noUpdate = useReason("jobs:update");

  const reasonAgainst = (action: JobVerb, job: JobRow) => {
    if (action === "cancel") return noCancel ?? (isCancelable(job.status) ? alreadyAsked(job) : "The job has ended.");
    if (action === "pause") return noUpdate ?? (isPausable(job.status) ? null : "Only a queued job can be paused.");
    if (action === "resume") return noUpdate ?? (isResumable(job.status) ? null : "The job is not paused.");
    return noRetry ?? (isRetryable(job.status) ? null : "Only a job that ended without success can be retried.");
  };
  const send = (action: JobVerb, job: JobRow) => {
    if (sending.current) return;
    sending.current = true;
    mutation.mutate(
      { id: job.id, action },
      {
        onSettled: () => {
          sending.current = false;
        },
        onSuccess: (after) => {
          toast({ title: describe(action, after) });
          onDone?.(after);
        },
        onError: (error) => toast({ title: `Could not ${action} the job`, detail: reasonOf(error), tone: "bad" }),
      },
    );
  };
  const run = (action: JobVerb, job: JobRow) => {
    const against = reasonAgainst(action, job);
    if (against) toast({ title: against });
    else if (action === "cancel" && job.status === "running") setAsked(job);
    else send(action, job);
  };
  const question = (
    <CancelQuestion
      job={asked}
      onClose={() => setAsked(null)}
      onConfirm={(job) => {
        setAsked(null);
        send("cancel", job);
      }}
    />
  );
  return { reasonAgainst, run, busyId: mutation.isPending ? mutation.variables.id : null, question };
}

function alreadyAsked(job: JobRow): string | null {
  return job.cancel_requested_at === null ? null : "The job has already been asked to stop.";
}

function describe(action: JobVerb, job: Job): string {
  if (action === "retry") return "Queued again";
  if (action === "pause") return "Paused";
  if (action === "resume") return "Resumed";
  return job.status === "canceled"
    ? "Canceled"
    : job.status === "running"
      ? "Asked to stop"
      : `The job is ${job.status}`;
}

function reasonOf(error: unknown): string | undefined {
  return error instanceof ApiError ? error.detail || error.title : undefined;
}

interface CancelQuestionProps {
  readonly job: JobRow | null;
  readonly onClose: () => void;
  readonly onConfirm: (job: JobRow) => void;
}

function CancelQuestion({ job, onClose, onConfirm }: CancelQuestionProps) {
  return (
    <ConfirmDialog
      title="Cancel this running job?"
      open={job !== null}
      keep="Let it run"
      action="Cancel job"
      onConfirm={() => job && onConfirm(job)}
      onClose={onClose}
    >
      <p className="text-muted">
        <strong className="font-medium text-ink">{job?.definition_key}</strong> is asked to stop, and killed if it does
        not stop. Its effects outside the database remain.
      </p>
    </ConfirmDialog>
  );
}
