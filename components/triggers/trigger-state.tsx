"use client";

import { CircleCheck, History, TriangleAlert } from "lucide-react";
import { cn } from "@/components/ui/cn";
import { Time } from "@/components/ui/time";
import { plural } from "@/lib/client/format";
import type { Trigger } from "@/lib/contract";
import { reasonWords } from "./words";

const MARK = "inline-flex h-5 shrink-0 items-center gap-1 rounded-full px-2 font-medium text-2xs";

/** Unusual states of a trigger: broken, finished, or with skipped instants. */
export function TriggerMarks({ trigger }: { readonly trigger: Trigger }) {
  const { status, missed_count: missed } = trigger;
  return (
    <>
      {status === "broken" ? (
        <span className={cn(MARK, "bg-bad-soft text-bad")}>
          <TriangleAlert aria-hidden className="size-3" />
          Broken
        </span>
      ) : null}
      {status === "finished" ? (
        <span className={cn(MARK, "bg-hold-soft text-hold")}>
          <CircleCheck aria-hidden className="size-3" />
          Finished
        </span>
      ) : null}
      {missed > 0 ? (
        <span className={cn(MARK, "bg-warn-soft text-warn")} title="Runs skipped in the last seven days">
          <History aria-hidden className="size-3" />
          {missed} missed
        </span>
      ) : null}
    </>
  );
}

/** When the trigger fires next, or why it does not. */
export function NextFiring({ trigger, short }: { readonly trigger: Trigger; readonly short?: boolean }) {
  if (!trigger.is_enabled) return <span className="text-muted">disabled</span>;
  if (trigger.status === "broken" && trigger.next_run_at === null) return <span className="text-bad">broken</span>;
  if (trigger.status === "finished") {
    const why = trigger.status_reason === null ? "" : `: ${reasonWords(trigger.status_reason)}`;
    return <span className="text-muted">no more runs{why}</span>;
  }
  if (trigger.trigger_type === "event") {
    return <span className="text-muted">on each event</span>;
  }
  if (trigger.next_run_at === null) return <span className="text-muted">not planned</span>;
  return (
    <>
      <span className={short ? undefined : "block"}>
        <Time value={trigger.next_run_at} />
      </span>
      {short ? " · " : null}
      <span className="text-muted text-xs">
        <Time value={trigger.next_run_at} kind="absolute" />
      </span>
    </>
  );
}

/** Formats the number of runs: "2 of 10 runs". */
export function runsWords({ run_count: runs, max_runs: most }: Trigger): string {
  return most === null ? plural(runs, "run") : `${runs} of ${plural(most, "run")}`;
}
