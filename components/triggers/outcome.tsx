import { Check, CopyMinus, type LucideIcon, SkipForward, X } from "lucide-react";
import { cn } from "@/components/ui/cn";
import { formatUtc } from "@/lib/client/format";
import type { Trigger } from "@/lib/contract";
import type { FiringOutcome } from "@/lib/queue/states";
import { STATUS_LOOKS } from "../jobs/status";
import { OUTCOME_WORDS, reasonWords } from "./words";

const LOOKS: Readonly<Record<FiringOutcome, { icon: LucideIcon; className: string }>> = {
  enqueued: { icon: Check, className: "text-ok bg-ok-soft" },
  deduplicated: { icon: CopyMinus, className: "text-hold bg-hold-soft" },
  skipped: { icon: SkipForward, className: "text-warn bg-warn-soft" },
  failed: { icon: X, className: "text-bad bg-bad-soft" },
};

/** The outcome of a firing: a word, an icon and a color. */
export function FiringBadge({ outcome }: { readonly outcome: FiringOutcome }) {
  const { icon: Icon, className } = LOOKS[outcome];
  return (
    <span
      className={cn(
        "inline-flex h-5.5 items-center gap-1.5 whitespace-nowrap rounded-full pr-2.5 pl-2 font-medium text-xs",
        className,
      )}
    >
      <Icon aria-hidden strokeWidth={2.5} className="size-3" />
      {OUTCOME_WORDS[outcome]}
    </span>
  );
}

type Recent = Trigger["recent_firings"][number];

const SLOTS = 20;

/** The newest firings as one bar, oldest first; the history describes them in words. */
export function OutcomeBar({ firings }: { readonly firings: readonly Recent[] }) {
  if (firings.length === 0) return <span className="text-muted text-xs">no firings yet</span>;
  return (
    <span role="img" aria-label={summary(firings)} className="flex h-5 items-end gap-0.5">
      {Array.from({ length: SLOTS - firings.length }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: slots that are still empty
        <span key={index} className="h-1 w-1 rounded-full bg-line" />
      ))}
      {firings.toReversed().map((firing) => (
        <span key={firing.id} title={titleOf(firing)} className={cn("w-1 rounded-full", tickOf(firing))} />
      ))}
    </span>
  );
}

const hasFailed = ({ outcome, job_status: job }: Recent): boolean =>
  outcome === "failed" || job === "failed" || job === "dead_letter";

function tickOf(firing: Recent): string {
  if (hasFailed(firing)) return "h-5 bg-bad";
  if (firing.outcome === "skipped") return "h-2.5 bg-warn";
  return firing.outcome === "deduplicated" ? "h-2.5 bg-control" : "h-5 bg-ok";
}

function titleOf({ outcome, reason, job_status: job, fire_at: at }: Recent): string {
  const became = job === null ? "" : `, job ${STATUS_LOOKS[job].label.toLowerCase()}`;
  return `${OUTCOME_WORDS[outcome]}${reason === null ? "" : `: ${reasonWords(reason)}`}${became} · ${formatUtc(at)}`;
}

function summary(firings: readonly Recent[]): string {
  const counts = new Map<string, number>();
  for (const firing of firings) {
    const word = hasFailed(firing) ? "failed" : OUTCOME_WORDS[firing.outcome].toLowerCase();
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const parts = [...counts].map(([word, count]) => `${count} ${word}`);
  return `Newest ${firings.length} firings: ${parts.join(", ")}`;
}
