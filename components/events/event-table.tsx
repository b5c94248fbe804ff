"use client";

import { type Column, DataTable } from "@/components/ui/lists/data-table";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import { useFirst } from "@/lib/client/use-first";
import type { EventRow } from "@/lib/contract";
import { EventOutcome } from "./event-outcome";
import { SOURCE_WORDS } from "./words";

interface EventTableProps {
  /** Undefined while the first answer is loading. */
  readonly events: readonly EventRow[] | undefined;
  readonly onOpen: (id: string) => void;
}

export function EventTable({ events, onOpen }: EventTableProps) {
  return (
    <DataTable
      caption="Events, newest first"
      columns={[nameColumn(onOpen), ...COLUMNS]}
      rows={events}
      rowKey={({ id }) => id}
      rowClass="align-top hover:bg-hover"
      rowAttributes={({ id }) => ({ "data-event-id": id })}
      loading={{ rows: 4, className: "h-14" }}
      className="table-fixed"
    />
  );
}

const nameColumn = (onOpen: (id: string) => void): Column<EventRow> => ({
  id: "event",
  head: "Event",
  className: "py-2",
  cell: ({ id, name, received_at: at }) => (
    <>
      <button
        type="button"
        onClick={() => onOpen(id)}
        className="block min-h-6 max-w-full truncate rounded-sm text-left font-medium text-sm hover:underline"
      >
        <Plain oneLine text={name} />
      </button>
      <p className="truncate text-muted text-xs">
        <span className="sm:hidden">
          <Time value={at} /> ·{" "}
        </span>
        <span className="font-mono">{id}</span>
      </p>
    </>
  ),
});

const COLUMNS: readonly Column<EventRow>[] = [
  {
    id: "from",
    head: "From",
    from: "md",
    width: "w-28",
    className: "py-2 text-sm",
    cell: ({ source }) => SOURCE_WORDS[source],
  },
  {
    id: "received",
    head: "Received",
    from: "sm",
    width: "w-28",
    className: "py-2 text-muted text-sm",
    cell: ({ received_at: at }) => <Time value={at} />,
  },
  {
    id: "started",
    head: "What it started",
    width: "w-1/2",
    className: "py-2",
    cell: (event) => <Started event={event} />,
  },
];

/** An event that was pending at first keeps the height of its outcome, so that the rows below do not move. */
function Started({ event }: { readonly event: EventRow }) {
  const wasPending = useFirst(event.status === "pending");
  return (
    <div className={wasPending ? "h-10 overflow-hidden" : undefined}>
      <EventOutcome event={event} />
    </div>
  );
}
