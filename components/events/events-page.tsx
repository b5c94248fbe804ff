"use client";

import { useQuery } from "@tanstack/react-query";
import { ArrowUp, SearchX, Send } from "lucide-react";
import { parseAsString, useQueryStates } from "nuqs";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { Pager } from "@/components/ui/pager";
import { Empty, ProblemPanel } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { eventKeys, eventsOptions } from "@/lib/client/events";
import { plural } from "@/lib/client/format";
import { useRefresh } from "@/lib/client/use-refresh";
import { LiveIndicator } from "../shell/live-indicator";
import { useReason, useTenant } from "../shell/viewer";
import { EventDialog } from "./event-dialog";
import type { EventDraft } from "./event-draft";
import { EventTable } from "./event-table";
import { FirstEvent } from "./first-event";
import { NameFilter } from "./name-filter";
import { SendEventDialog } from "./send-event-dialog";
import { useHeldRows } from "./use-held-rows";

const parsers = { name: parseAsString, correlation: parseAsString, cursor: parseAsString, event: parseAsString };
const BLANK: EventDraft = { name: "", data: {} };

/** The events of a tenant: did it arrive, and what did it start? */
export function EventsPage() {
  const { slug } = useTenant();
  const noSend = useReason("events:publish");
  const [{ event, ...place }, setPlace] = useQueryStates(parsers, { history: "push" });
  const [draft, setDraft] = useState<EventDraft | null>(null);
  const refetchInterval = useRefresh(eventKeys.all(slug));
  const query = useQuery({ ...eventsOptions(slug, place), refetchInterval });
  const { rows, waiting, hold, release } = useHeldRows(query.data?.data);
  const narrowed = place.name !== null || place.correlation !== null || place.cursor !== null;
  const open = (id: string | null) => void setPlace({ event: id });
  return (
    <div className="flex flex-col gap-4">
      <header className="flex flex-wrap items-center gap-3">
        <div className="min-w-0 flex-1 basis-56">
          <h1 className="font-semibold text-xl tracking-tight">Events</h1>
          <p className="text-muted text-sm">What happened, which triggers it met, and what they started.</p>
        </div>
        <span className="hidden lg:block">
          <LiveIndicator />
        </span>
        <Button variant="primary" reason={noSend} onClick={() => setDraft(BLANK)}>
          <Send aria-hidden className="size-4" />
          Send event
        </Button>
      </header>
      <NameFilter
        name={place.name}
        correlation={place.correlation}
        onChange={(change) => void setPlace({ ...change, cursor: null })}
      />
      <section aria-label="Events" className="panel overflow-hidden">
        {query.isError && rows ? <Stale at={query.dataUpdatedAt} /> : null}
        {waiting > 0 ? (
          <button
            type="button"
            onClick={release}
            className="flex h-9 w-full items-center justify-center gap-2 border-line border-b bg-accent-soft font-medium text-accent text-sm hover:underline"
          >
            <ArrowUp aria-hidden className="size-3.5" />
            {plural(waiting, "new event")} – show
          </button>
        ) : null}
        {query.isError && !rows ? (
          <ProblemPanel error={query.error} onRetry={() => query.refetch()} busy={query.isFetching} />
        ) : rows?.length === 0 && narrowed ? (
          <Empty icon={SearchX} title="No event matches">
            <Button onClick={() => void setPlace({ name: null, correlation: null, cursor: null })}>Show all</Button>
          </Empty>
        ) : rows?.length === 0 ? (
          <FirstEvent noSend={noSend} onSend={() => setDraft(BLANK)} />
        ) : (
          <EventTable events={rows} onOpen={open} onHold={hold} onRelease={release} />
        )}
        {query.data && (place.cursor || query.data.pagination.has_more) ? (
          <Pager
            label="Newest first"
            cursor={place.cursor}
            next={query.data.pagination.next_cursor}
            onTurn={(cursor) => void setPlace({ cursor })}
          />
        ) : null}
      </section>
      {event !== null && draft === null ? (
        <EventDialog id={event} onClose={() => open(null)} onSendAgain={noSend === null ? setDraft : null} />
      ) : null}
      {draft === null ? null : (
        <SendEventDialog
          draft={draft}
          onClose={() => setDraft(null)}
          onSent={(id) => {
            setDraft(null);
            open(id);
          }}
        />
      )}
    </div>
  );
}

function Stale({ at }: { readonly at: number }) {
  return (
    <p role="status" className="border-line border-b bg-warn-soft px-4 py-1.5 text-sm text-warn">
      Could not refresh; as of <Time value={new Date(at).toISOString()} kind="absolute" />.
    </p>
  );
}
