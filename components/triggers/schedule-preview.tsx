"use client";

import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { cn } from "@/components/ui/cn";
import { JsonView } from "@/components/ui/json-view";
import { type Column, DataTable } from "@/components/ui/lists/data-table";
import { Skeleton } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { useNow } from "@/lib/client/clock";
import type { TriggerPreview } from "@/lib/contract";
import { WARNING_WORDS } from "./words";

interface SchedulePreviewProps {
  /** Undefined while there is no answer. */
  readonly preview: TriggerPreview | undefined;
  /** Why there is no preview. */
  readonly fault: string | null;
  /** True while a newer answer is loading. */
  readonly busy: boolean;
  /** The button that shows later instants. */
  readonly showNewest?: ReactNode;
}

/** What the schedule in the form would do, computed by the engine that will fire it. */
export function SchedulePreviewPanel({ preview, fault, busy, showNewest }: SchedulePreviewProps) {
  return (
    <section aria-label="Preview" className="panel min-w-0 overflow-hidden">
      <header className="px-4 py-3">
        <div className="flex h-6.5 items-center justify-between gap-3">
          <h2 className="font-semibold text-base">Preview</h2>
          {showNewest}
        </div>
        <p aria-live="polite" className={cn("text-sm", fault ? "text-bad" : "text-muted")}>
          {fault ?? preview?.description ?? <Skeleton className="mt-1 h-4 w-48" />}
        </p>
      </header>
      {preview?.warnings.map((warning) => (
        <p
          key={warning}
          role="status"
          className="flex gap-2 border-line border-t bg-warn-soft px-4 py-2 text-sm text-warn"
        >
          <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
          {WARNING_WORDS[warning]}
        </p>
      ))}
      {preview?.example && preview.example.problems.length === 0 && !fault ? (
        <div className="p-4 pt-0">
          <JsonView title="Its first payload" value={preview.example.payload} empty="" />
        </div>
      ) : null}
      {preview && preview.occurrences.length > 0 && !fault ? <Instants preview={preview} busy={busy} /> : null}
    </section>
  );
}

type Occurrence = TriggerPreview["occurrences"][number];

const COLUMNS: readonly Column<Occurrence>[] = [
  {
    id: "zone",
    head: "In its zone",
    width: "px-4",
    className: "tabular px-4 py-1.5 text-sm",
    cell: ({ local, note }) => (
      <>
        {localWords(local)}
        {note ? <p className="text-warn text-xs">{note}</p> : null}
      </>
    ),
  },
  {
    id: "here",
    head: "In yours",
    width: "px-4",
    className: "px-4 py-1.5 text-muted text-xs",
    cell: ({ at }) => (
      <>
        <span className="block">
          <Time value={at} kind="absolute" />
        </span>
        <Time value={at} />
      </>
    ),
  },
];

function Instants({ preview, busy }: { readonly preview: TriggerPreview; readonly busy: boolean }) {
  const now = useNow();
  return (
    <DataTable
      caption="The next instants"
      columns={COLUMNS}
      rows={preview.occurrences}
      rowKey={({ at }) => at}
      rowClass="align-top"
      rowAttributes={({ at, note }) => ({
        className: cn(note && "bg-warn-soft", Date.parse(at) <= now && "text-muted"),
      })}
      busy={busy}
      className={cn("border-line border-t", busy && "opacity-70")}
      headClass="h-8"
    />
  );
}

const LOCAL = /^(\d+)-(\d\d)-(\d\d)T(\d\d:\d\d)(?::00)?(:\d\d)?(?:\.\d{1,9})?(.*)$/;
const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Formats `2026-03-29T03:00:00+02:00` as `Sun 29 Mar 2026, 03:00 +02:00`. */
export function localWords(local: string): string {
  const match = LOCAL.exec(local);
  if (!match) return local;
  const [, year = "", month = "", day = "", time = "", seconds = "", offset = ""] = match;
  const weekday = WEEKDAYS[new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDay()];
  return `${weekday} ${Number(day)} ${MONTHS[Number(month) - 1]} ${year}, ${time}${seconds} ${offset}`;
}
