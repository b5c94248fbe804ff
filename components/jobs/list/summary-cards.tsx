"use client";

import type { LucideIcon } from "lucide-react";
import { cn } from "@/components/ui/cn";
import { Link } from "@/components/ui/link";
import { Skeleton } from "@/components/ui/states";
import { formatAge, formatCount } from "@/lib/client/format";
import { type JobFilters, jobsHref } from "@/lib/client/jobs/job-filters";
import type { JobSummary } from "@/lib/contract";
import type { JobStatus } from "@/lib/queue/states";
import { STATUS_LOOKS } from "../status";

interface Card {
  readonly title: string;
  readonly statuses: readonly JobStatus[];
  readonly icon: LucideIcon;
  readonly tone: string;
  /** True if only jobs that ended in the last day are counted; the link filters by the same span. */
  readonly lastDay: boolean;
  readonly note: (summary: JobSummary) => string;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Describes how long queued jobs have waited, and how many jobs are not even queued. */
function waiting({ oldest_queued_age_seconds: age, counts }: JobSummary): string {
  const waiting = (["blocked", "paused"] as const).flatMap((status) =>
    counts[status] > 0 ? `${formatCount(counts[status])} ${status}` : [],
  );
  if (counts.queued === 0) return waiting.join(" · ") || "nothing waits";
  return [age === null ? "all due later" : `oldest waits ${formatAge(age)}`, ...waiting].join(" · ");
}

const CARDS: readonly Card[] = [
  {
    title: "Queued",
    statuses: ["queued"],
    icon: STATUS_LOOKS.queued.icon,
    tone: "text-hold",
    lastDay: false,
    note: waiting,
  },
  {
    title: "Running",
    statuses: ["running"],
    icon: STATUS_LOOKS.running.icon,
    tone: "text-info",
    lastDay: false,
    note: () => "right now",
  },
  {
    title: "Succeeded",
    statuses: ["succeeded"],
    icon: STATUS_LOOKS.succeeded.icon,
    tone: "text-ok",
    lastDay: true,
    note: () => "last 24 h",
  },
  {
    title: "Failed",
    statuses: ["failed", "dead_letter"],
    icon: STATUS_LOOKS.dead_letter.icon,
    tone: "text-bad",
    lastDay: true,
    // A job that was redriven and failed again counts twice here, but is one dead letter.
    note: ({ counts }) => `runs in 24 h · ${formatCount(counts.dead_letter)} for good`,
  },
  {
    title: "Canceled",
    statuses: ["canceled", "expired"],
    icon: STATUS_LOOKS.canceled.icon,
    tone: "text-hold",
    lastDay: true,
    note: ({ counts }) => `last 24 h · ${formatCount(counts.expired)} expired`,
  },
];

interface SummaryCardsProps {
  readonly tenant: string;
  readonly summary: JobSummary | undefined;
  readonly filters: JobFilters;
}

/** The counts of the tenant; each is a link that filters the list to the counted jobs. */
export function SummaryCards({ tenant, summary, filters }: SummaryCardsProps) {
  return (
    <ul
      aria-label="Summary"
      className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line sm:grid-cols-5"
    >
      {CARDS.map((card) => {
        const active = card.statuses.join() === filters.status.join();
        return (
          <li key={card.title} className="bg-panel max-sm:last:col-span-2">
            <Link
              href={hrefOf(tenant, card, summary, active)}
              aria-current={active ? "true" : undefined}
              className={cn(
                "flex h-full flex-col gap-0.5 border-transparent border-b-2 px-4 py-3 hover:bg-hover max-sm:py-2",
                active && "border-accent bg-hover",
              )}
            >
              <span className={cn("flex items-center gap-1.5 font-medium text-xs", card.tone)}>
                <card.icon aria-hidden strokeWidth={2.5} className="size-3" />
                {card.title}
              </span>
              {summary ? <Figure card={card} summary={summary} /> : <FigureSkeleton />}
            </Link>
          </li>
        );
      })}
    </ul>
  );
}

function hrefOf(tenant: string, card: Card, summary: JobSummary | undefined, active: boolean): string {
  if (active) return jobsHref(tenant, {});
  const after = card.lastDay && summary ? lastDayFrom(summary) : null;
  return jobsHref(tenant, { status: card.statuses, after });
}

/** Returns the start of the last day, to the minute, so that a card's address does not change with each summary. */
function lastDayFrom({ as_of }: JobSummary): string {
  return new Date(Math.floor((Date.parse(as_of) - DAY_MS) / MINUTE_MS) * MINUTE_MS).toISOString();
}

function Figure({ card, summary }: { readonly card: Card; readonly summary: JobSummary }) {
  const total = card.statuses.reduce((sum, status) => sum + summary.counts[status], 0);
  return (
    <>
      <span className="tabular font-semibold text-2xl tracking-tight max-sm:text-xl">{formatCount(total)}</span>
      <span className="tabular truncate text-muted text-xs" title={card.note(summary)}>
        {card.note(summary)}
      </span>
    </>
  );
}

function FigureSkeleton() {
  return (
    <>
      <span className="flex h-8 items-center max-sm:h-7">
        <Skeleton className="h-5 w-12" />
      </span>
      <span className="flex h-4.5 items-center">
        <Skeleton className="h-3 w-24" />
      </span>
    </>
  );
}
