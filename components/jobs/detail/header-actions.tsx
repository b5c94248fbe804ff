"use client";

import { Ban, type LucideIcon, Pause, PencilLine, Play, RotateCcw, SlidersHorizontal } from "lucide-react";
import { useState } from "react";
import { Button, type ButtonProps } from "@/components/ui/button";
import type { JobVerb } from "@/lib/client/jobs/jobs";
import type { Job } from "@/lib/contract";
import { isCancelable, isChangeable, isPausable, isResumable, isRetryable, isTerminal } from "@/lib/queue/states";
import { useReason } from "../../shell/viewer";
import type { JobActions } from "../job-actions";
import { ChangeJobDialog } from "./change-job-dialog";
import { EditRetryDialog } from "./edit-retry-dialog";

/** The actions that are possible in the job's current status. */
export function HeaderActions({ job, actions }: { readonly job: Job; readonly actions: JobActions }) {
  const [open, setOpen] = useState<"change" | "edit" | null>(null);
  const noUpdate = useReason("jobs:update");
  const noRetry = useReason("jobs:retry");
  const button = (action: JobVerb) => ({
    reason: actions.reasonAgainst(action, job),
    busy: actions.busyId === job.id,
    onClick: () => actions.run(action, job),
  });
  const close = () => setOpen(null);
  return (
    <div className="flex flex-wrap gap-2">
      {isTerminal(job.status) ? <IconButton icon={RotateCcw} name="Retry" {...button("retry")} /> : null}
      {isRetryable(job.status) ? (
        <IconButton icon={PencilLine} name="Edit and retry" reason={noRetry} onClick={() => setOpen("edit")} />
      ) : null}
      {isPausable(job.status) ? <IconButton icon={Pause} name="Pause" {...button("pause")} /> : null}
      {isResumable(job.status) ? <IconButton icon={Play} name="Resume" {...button("resume")} /> : null}
      {isChangeable(job.status) ? (
        <IconButton icon={SlidersHorizontal} name="Change" reason={noUpdate} onClick={() => setOpen("change")} />
      ) : null}
      {isCancelable(job.status) ? <IconButton icon={Ban} name="Cancel" variant="danger" {...button("cancel")} /> : null}
      {open === "change" ? <ChangeJobDialog job={job} onClose={close} /> : null}
      {open === "edit" ? <EditRetryDialog job={job} onClose={close} /> : null}
    </div>
  );
}

interface IconButtonProps extends ButtonProps {
  readonly icon: LucideIcon;
  readonly name: string;
}

function IconButton({ icon: Icon, name, ...button }: IconButtonProps) {
  return (
    <Button {...button}>
      <Icon aria-hidden className="size-3.5" />
      {name}
    </Button>
  );
}
