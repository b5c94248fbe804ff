/*
 * What several pages show of a job: its status, error, source and timing, the links between retries, and the actions on
 * it. Only this file defines how the status of a job looks. An error is shown as plain text, and `useJobActions`
 * cancels a running job only after a confirmation.
 *
 * Start here, then `job-actions.tsx` and `error-text.tsx`. `list/` and `detail/` are the pages of jobs, `new/` is the
 * dialog for a new one.
 */

import {
  Ban,
  Check,
  Circle,
  CircleDashed,
  Hourglass,
  LoaderCircle,
  type LucideIcon,
  Pause,
  TriangleAlert,
  Undo2,
  Unplug,
  Workflow,
  X,
} from "lucide-react";
import { cn } from "@/components/ui/cn";
import type { ShownAttemptStatus as Outcome } from "@/lib/contract";
import type { JobStatus } from "@/lib/queue/states";

interface Look {
  readonly label: string;
  readonly icon: LucideIcon;
  readonly className: string;
}

const OK = "text-ok bg-ok-soft";
const BAD = "text-bad bg-bad-soft";
const HOLD = "text-hold bg-hold-soft";
const WARN = "text-warn bg-warn-soft";
const INFO = "text-info bg-info-soft";

/** The label, icon and color of each status; the only place that defines them. */
export const STATUS_LOOKS: Readonly<Record<JobStatus, Look>> = {
  queued: { label: "Queued", icon: Circle, className: HOLD },
  blocked: { label: "Blocked", icon: Workflow, className: "text-block bg-block-soft" },
  paused: { label: "Paused", icon: Pause, className: HOLD },
  running: { label: "Running", icon: LoaderCircle, className: INFO },
  succeeded: { label: "Succeeded", icon: Check, className: OK },
  failed: { label: "Failed", icon: X, className: BAD },
  dead_letter: { label: "Dead letter", icon: TriangleAlert, className: BAD },
  canceled: { label: "Canceled", icon: Ban, className: HOLD },
  expired: { label: "Expired", icon: Hourglass, className: HOLD },
};

const OUTCOME_LOOKS: Readonly<Record<Outcome, Look>> = {
  running: STATUS_LOOKS.running,
  succeeded: STATUS_LOOKS.succeeded,
  failed: STATUS_LOOKS.failed,
  canceled: STATUS_LOOKS.canceled,
  expired: STATUS_LOOKS.expired,
  timeout: { label: "Timed out", icon: Hourglass, className: BAD },
  worker_lost: { label: "Worker lost", icon: Unplug, className: WARN },
  released: { label: "Released", icon: Undo2, className: HOLD },
  snoozed: { label: "Snoozed", icon: CircleDashed, className: HOLD },
};

function Badge({ look, spins }: { readonly look: Look; readonly spins: boolean }) {
  const Icon = look.icon;
  return (
    <span
      className={cn(
        "inline-flex h-5.5 items-center gap-1.5 whitespace-nowrap rounded-full pr-2.5 pl-2 font-medium text-xs",
        look.className,
      )}
    >
      <Icon aria-hidden strokeWidth={2.5} className={cn("size-3", spins && "animate-spin-slow")} />
      {look.label}
    </span>
  );
}

const CANCELING: Look = { label: "Canceling", icon: Ban, className: WARN };

/** The status of a job; a running job with a cancel request is shown as canceling. */
export function StatusBadge({ status, canceling }: { readonly status: JobStatus; readonly canceling?: boolean }) {
  if (status === "running" && canceling) return <Badge look={CANCELING} spins={false} />;
  return <Badge look={STATUS_LOOKS[status]} spins={status === "running"} />;
}

export function OutcomeBadge({ outcome }: { readonly outcome: Outcome }) {
  return <Badge look={OUTCOME_LOOKS[outcome]} spins={outcome === "running"} />;
}
