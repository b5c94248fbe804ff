"use client";

import { useQuery } from "@tanstack/react-query";
import { SearchX, Send } from "lucide-react";
import { parseAsString, useQueryStates } from "nuqs";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { ListBar } from "@/components/ui/list-bar";
import { Pager } from "@/components/ui/pager";
import { Empty, ProblemPanel } from "@/components/ui/states";
import { IDLE_POLL_MS, usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRefresh } from "@/lib/client/live/use-refresh";
import { eventKeys, eventsOptions } from "@/lib/client/triggers/events";
import { LiveIndicator } from "../shell/live-indicator";
import { useReason, useTenant } from "../shell/viewer";
import { EventDialog } from "./event-dialog";
import type { EventDraft } from "./event-draft";
import { EventTable } from "./event-table";
import { FirstEvent } from "./first-event";
import { NameFilter } from "./name-filter";
import { SendEventDialog } from "./send-event-dialog";

const parsers = { name: parseAsString, correlation: parseAsString, cursor: parseAsString, event: parseAsString };
const BLANK: EventDraft = { name: "", data: {} };

/** The events of a tenant: did it arrive, and what did it start? */
export function EventsPage() {
  const { slug } = useTenant();
  const noSend = useReason("events:publish");
  const [{ event, ...place }, setPlace] = useQueryStates(parsers, { history: "push" });
  const [draft, setDraft] = useState<EventDraft | null>(null);
  const refetchInterval = usePollInterval(IDLE_POLL_MS);
  const query = useQuery({ ...eventsOptions(slug, place), refetchInterval });
  useRefresh(eventKeys.all(slug));
  const latest = query.isPlaceholderData ? undefined : query.data?.data;
  const { rows, shown, showWaiting } = usePinnedRows(latest, JSON.stringify(place));
  const narrowed = place.name !== null || place.correlation !== null || place.cursor !== null;
  const open = (id: string | null) => void setPlace({ event: id });
  return (
    <div className="flex flex-col gap-4">
      <header className="flex flex-wrap items-center gap-3">
        <div className="min-w-0 flex-1 basis-56">
          <h1 className="font-semibold text-xl tracking-tight">Events</h1>
          <p className="text-muted text-sm">Published events, the triggers that matched, and the jobs they started.</p>
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
      <section aria-label="Events" className="panel overflow-clip">
        <ListBar
          noun="event"
          waiting={place.cursor === null ? shown.waiting.length : 0}
          onShow={() => showWaiting()}
          read={rows !== undefined}
          staleSince={query.isError && rows ? query.dataUpdatedAt : null}
          onRetry={() => void query.refetch()}
        />
        {query.isError && !rows ? (
          <ProblemPanel error={query.error} onRetry={() => query.refetch()} busy={query.isFetching} />
        ) : rows?.length === 0 && narrowed ? (
          <Empty icon={SearchX} title="No event matches">
            <Button onClick={() => void setPlace({ name: null, correlation: null, cursor: null })}>Show all</Button>
          </Empty>
        ) : rows?.length === 0 ? (
          <FirstEvent noSend={noSend} onSend={() => setDraft(BLANK)} />
        ) : (
          <EventTable events={rows} onOpen={open} />
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
