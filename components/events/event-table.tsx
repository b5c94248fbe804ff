"use client";

import { Plain } from "@/components/ui/plain";
import { Skeleton } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { useFirst } from "@/lib/client/use-first";
import type { EventRow } from "@/lib/contract";
import { EventOutcome } from "./event-outcome";
import { SOURCE_WORDS } from "./words";

const HEAD = "h-9 px-3 text-left font-medium text-muted text-xs";

interface EventTableProps {
  /** Undefined while the first answer is loading. */
  readonly events: readonly EventRow[] | undefined;
  readonly onOpen: (id: string) => void;
}

export function EventTable({ events, onOpen }: EventTableProps) {
  return (
    <table aria-busy={events === undefined} className="w-full table-fixed border-collapse">
      <caption className="sr-only">Events, newest first</caption>
      <thead>
        <tr>
          <th scope="col" className={`${HEAD} sm:pl-4`}>
            Event
          </th>
          <th scope="col" className={`${HEAD} hidden w-28 md:table-cell`}>
            From
          </th>
          <th scope="col" className={`${HEAD} hidden w-28 sm:table-cell`}>
            Received
          </th>
          <th scope="col" className={`${HEAD} w-1/2`}>
            What it started
          </th>
        </tr>
      </thead>
      <tbody>{events?.map((event) => <Row key={event.id} event={event} onOpen={onOpen} />) ?? <Waiting />}</tbody>
    </table>
  );
}

function Row({ event, onOpen }: { readonly event: EventRow; readonly onOpen: (id: string) => void }) {
  const wasPending = useFirst(event.status === "pending");
  return (
    <tr data-event-id={event.id} className="border-line border-t align-top hover:bg-hover">
      <td className="px-3 py-2 sm:pl-4">
        <button
          type="button"
          onClick={() => onOpen(event.id)}
          className="block min-h-6 max-w-full truncate rounded-sm text-left font-medium text-sm hover:underline"
        >
          <Plain oneLine text={event.name} />
        </button>
        <p className="truncate text-muted text-xs">
          <span className="sm:hidden">
            <Time value={event.received_at} /> ·{" "}
          </span>
          <span className="font-mono">{event.id}</span>
        </p>
      </td>
      <td className="hidden px-3 py-2 text-sm md:table-cell">{SOURCE_WORDS[event.source]}</td>
      <td className="hidden px-3 py-2 text-muted text-sm sm:table-cell">
        <Time value={event.received_at} />
      </td>
      <td className="px-3 py-2">
        <div className={wasPending ? "h-10 overflow-hidden" : undefined}>
          <EventOutcome event={event} />
        </div>
      </td>
    </tr>
  );
}

const ROWS = ["a", "b", "c", "d"];

function Waiting() {
  return ROWS.map((key) => (
    <tr key={key} className="h-14 border-line border-t">
      <td className="px-3 sm:pl-4" colSpan={4}>
        <Skeleton className="h-4 w-56 max-w-full" />
      </td>
    </tr>
  ));
}
