/*
 * The Events page: the events of a tenant, the triggers that each matched, and the jobs they started. The event whose
 * id is in the address is open in a dialog. A replay asks first, and uses the event's original data, time and id.
 *
 * Start with the page below, then `event-dialog.tsx`, `send-event-dialog.tsx` and `replay-dialog.tsx`.
 */

"use client";

import { useQuery } from "@tanstack/react-query";
import { SearchX, Send } from "lucide-react";
import { parseAsString, useQueryStates } from "nuqs";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { ListPanel } from "@/components/ui/lists/list-panel";
import { Pager } from "@/components/ui/lists/pager";
import { PageHeader } from "@/components/ui/page-header";
import { Empty } from "@/components/ui/states";
import { IDLE_POLL_MS, usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRefresh } from "@/lib/client/live/use-refresh";
import { type EventDraft, eventKeys, eventsOptions } from "@/lib/client/triggers/events";
import { PageLiveIndicator } from "../shell/live-indicator";
import { useReason, useTenant } from "../shell/viewer";
import { EventDialog } from "./event-dialog";
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
  const [{ event, ...params }, setParams] = useQueryStates(parsers, { history: "push" });
  const [draft, setDraft] = useState<EventDraft | null>(null);
  const refetchInterval = usePollInterval(IDLE_POLL_MS);
  const query = useQuery({ ...eventsOptions(slug, params), refetchInterval });
  useRefresh(eventKeys.all(slug));
  const latest = query.isPlaceholderData ? undefined : query.data?.data;
  const { rows, shown, showWaiting } = usePinnedRows(latest, JSON.stringify(params));
  const open = (id: string | null) => void setParams({ event: id });
  return (
    <div className="flex flex-col gap-4">
      <EventsHeader noSend={noSend} onSend={() => setDraft(BLANK)} />
      <NameFilter
        name={params.name}
        correlation={params.correlation}
        onChange={(change) => void setParams({ ...change, cursor: null })}
      />
      <ListPanel
        label="Events"
        noun="event"
        query={query}
        rows={rows}
        waiting={params.cursor === null ? shown.waiting.length : 0}
        onShow={() => showWaiting()}
        empty={
          params.name !== null || params.correlation !== null || params.cursor !== null ? (
            <NoMatch onClear={() => void setParams({ name: null, correlation: null, cursor: null })} />
          ) : (
            <FirstEvent noSend={noSend} onSend={() => setDraft(BLANK)} />
          )
        }
        footer={
          query.data && (params.cursor || query.data.pagination.has_more) ? (
            <Pager
              label="Newest first"
              cursor={params.cursor}
              next={query.data.pagination.next_cursor}
              onTurn={(cursor) => void setParams({ cursor })}
            />
          ) : null
        }
      >
        <EventTable events={rows} onOpen={open} />
      </ListPanel>
      <EventDialogs shown={event} draft={draft} onShow={open} onDraft={setDraft} />
    </div>
  );
}

function EventsHeader({ noSend, onSend }: { readonly noSend: string | null; readonly onSend: () => void }) {
  return (
    <PageHeader title="Events" about="Published events, the triggers that matched, and the jobs they started.">
      <PageLiveIndicator />
      <Button variant="primary" reason={noSend} onClick={onSend}>
        <Send aria-hidden className="size-4" />
        Send event
      </Button>
    </PageHeader>
  );
}

function NoMatch({ onClear }: { readonly onClear: () => void }) {
  return (
    <Empty icon={SearchX} title="No event matches">
      <Button onClick={onClear}>Show all</Button>
    </Empty>
  );
}

interface EventDialogsProps {
  /** The id of the event that is open. */
  readonly shown: string | null;
  readonly draft: EventDraft | null;
  readonly onShow: (id: string | null) => void;
  readonly onDraft: (draft: EventDraft | null) => void;
}

/** The open event, or above it the one that is being composed. */
function EventDialogs({ shown, draft, onShow, onDraft }: EventDialogsProps) {
  const noSend = useReason("events:publish");
  if (draft !== null) {
    return (
      <SendEventDialog
        draft={draft}
        onClose={() => onDraft(null)}
        onSent={(id) => {
          onDraft(null);
          onShow(id);
        }}
      />
    );
  }
  if (shown === null) return null;
  return <EventDialog id={shown} onClose={() => onShow(null)} onSendAgain={noSend === null ? onDraft : null} />;
}
