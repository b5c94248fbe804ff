"use client";

import { Ban, Pause, PencilLine, Play, RotateCcw, SlidersHorizontal } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import type { JobAction } from "@/lib/client/jobs/jobs";
import type { Job } from "@/lib/contract";
import { isCancelable, isChangeable, isPausable, isResumable, isRetryable, isTerminal } from "@/lib/queue/states";
import { useReason } from "../../shell/viewer";
import type { ActOnJob } from "../job-actions";
import { ChangeJobDialog } from "./change-job-dialog";
import { EditRetryDialog } from "./edit-retry-dialog";

/** The actions that are possible in the job's current status. */
export function HeaderActions({ job, actions }: { readonly job: Job; readonly actions: ActOnJob }) {
  const [open, setOpen] = useState<"change" | "edit" | null>(null);
  const noUpdate = useReason("jobs:update");
  const noRetry = useReason("jobs:retry");
  const button = (action: JobAction) => ({
    reason: actions.reasonAgainst(action, job),
    busy: actions.busyId === job.id,
    onClick: () => actions.act(action, job),
  });
  const close = () => setOpen(null);
  return (
    <div className="flex flex-wrap gap-2">
      {isTerminal(job.status) ? (
        <Button {...button("retry")}>
          <RotateCcw aria-hidden className="size-3.5" />
          Retry
        </Button>
      ) : null}
      {isRetryable(job.status) ? (
        <Button reason={noRetry} onClick={() => setOpen("edit")}>
          <PencilLine aria-hidden className="size-3.5" />
          Edit and retry
        </Button>
      ) : null}
      {isPausable(job.status) ? (
        <Button {...button("pause")}>
          <Pause aria-hidden className="size-3.5" />
          Pause
        </Button>
      ) : null}
      {isResumable(job.status) ? (
        <Button {...button("resume")}>
          <Play aria-hidden className="size-3.5" />
          Resume
        </Button>
      ) : null}
      {isChangeable(job.status) ? (
        <Button reason={noUpdate} onClick={() => setOpen("change")}>
          <SlidersHorizontal aria-hidden className="size-3.5" />
          Change
        </Button>
      ) : null}
      {isCancelable(job.status) ? (
        <Button variant="danger" {...button("cancel")}>
          <Ban aria-hidden className="size-3.5" />
          Cancel
        </Button>
      ) : null}
      {open === "change" ? <ChangeJobDialog job={job} onClose={close} /> : null}
      {open === "edit" ? <EditRetryDialog job={job} onClose={close} /> : null}
    </div>
  );
}
