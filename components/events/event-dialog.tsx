"use client";

import { useQuery } from "@tanstack/react-query";
import { Copy, RotateCcw } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog, DialogActions, DialogBody } from "@/components/ui/dialog";
import { JsonView } from "@/components/ui/json-view";
import { Link } from "@/components/ui/link";
import { CopiedCode, FactRow } from "@/components/ui/lists/fact-row";
import { Plain } from "@/components/ui/plain";
import { QueryProblem, Skeleton } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { isRecord } from "@/lib/client/is-record";
import { usePollInterval } from "@/lib/client/live/use-live";
import { type EventDraft, eventOptions } from "@/lib/client/triggers/events";
import type { Event } from "@/lib/contract";
import { ChainPanel } from "../chain/chain-panel";
import { useTenant } from "../shell/viewer";
import { EventMisses } from "./event-misses";
import { EventOutcome } from "./event-outcome";
import { ReplayDialog } from "./replay-dialog";
import { SOURCE_WORDS } from "./words";

const WHILE_PENDING_MS = 2000;

interface EventDialogProps {
  readonly id: string;
  readonly onClose: () => void;
  /** Opens a draft of an event like this one; null when the viewer may not publish. */
  readonly onSendAgain: ((draft: EventDraft) => void) | null;
}

/** One event: its data, and the outcome for each trigger. */
export function EventDialog({ id, onClose, onSendAgain }: EventDialogProps) {
  const { slug } = useTenant();
  const poll = usePollInterval();
  const query = useQuery({
    ...eventOptions(slug, id),
    refetchInterval: (query) => (query.state.data?.status === "pending" ? WHILE_PENDING_MS : poll(query)),
  });
  const event = query.data;
  const [replaying, setReplaying] = useState(false);
  if (event && replaying) return <ReplayDialog event={event} onClose={() => setReplaying(false)} />;
  return (
    <Dialog wide title={event?.name ?? "Event"} open onClose={onClose}>
      <DialogBody className="flex flex-col gap-4">
        {event ? (
          <Loaded event={event} />
        ) : query.isError ? (
          <QueryProblem query={query} />
        ) : (
          <Skeleton className="h-48 w-full" />
        )}
      </DialogBody>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        {event && onSendAgain ? (
          <Button onClick={() => onSendAgain({ name: event.name, data: isRecord(event.data) ? event.data : {} })}>
            <Copy aria-hidden className="size-3.5" />
            Send one like it…
          </Button>
        ) : null}
        {event && onSendAgain ? (
          <Button
            reason={event.status === "pending" ? "The event has not been compared with the triggers yet." : null}
            onClick={() => setReplaying(true)}
          >
            <RotateCcw aria-hidden className="size-3.5" />
            Replay…
          </Button>
        ) : null}
      </DialogActions>
    </Dialog>
  );
}

function Loaded({ event }: { readonly event: Event }) {
  return (
    <>
      <section aria-label="What it started" className="flex flex-col gap-2">
        <h3 className="font-medium text-sm">What it started</h3>
        <EventOutcome event={event} all />
        <EventMisses misses={event.misses} />
        <Replays event={event} />
      </section>
      <div className="shrink-0">
        <JsonView title="Data" value={event.data} empty="The event has no data." />
      </div>
      <EventFacts event={event} />
      <ChainPanel correlation={event.correlation_id} current={event.id} />
    </>
  );
}

function EventFacts({ event }: { readonly event: Event }) {
  const { slug } = useTenant();
  return (
    <dl className="grid grid-cols-[5.5rem_minmax(0,1fr)] sm:grid-cols-[10rem_minmax(0,1fr)] divide-y divide-line rounded-md border border-line text-sm">
      <FactRow className="px-3" name="Received">
        <Time value={event.received_at} kind="absolute" />
      </FactRow>
      <FactRow className="px-3" name="From">
        {SOURCE_WORDS[event.source]}
        {event.caused_by_job_id === null ? null : (
          <>
            {" · "}
            <Link href={`/t/${slug}/jobs/${event.caused_by_job_id}`} className="text-accent underline">
              the job that caused it
            </Link>
          </>
        )}
      </FactRow>
      <FactRow className="px-3" name="Event id">
        <CopiedCode text={event.id} />
      </FactRow>
      {event.producer_id === null ? null : (
        <FactRow className="px-3" name="Producer's id">
          <CopiedCode text={event.producer_id} />
        </FactRow>
      )}
      <FactRow className="px-3" name="Chain">
        <CopiedCode text={event.correlation_id} />
        <span className="text-muted text-xs">
          depth {event.depth} ·{" "}
          <Link
            href={`/t/${slug}/jobs/events?correlation=${encodeURIComponent(event.correlation_id)}`}
            className="text-accent underline"
          >
            its events
          </Link>
        </span>
      </FactRow>
    </dl>
  );
}

function Replays({ event: { replays } }: { readonly event: Event }) {
  if (replays.length === 0) return null;
  return (
    <ul aria-label="Replays" className="flex flex-col gap-0.5 text-muted text-xs">
      {replays.map((replay) => (
        <li key={replay.at} className="break-words">
          Replayed <Time value={replay.at} /> by <Plain text={replay.actor ?? replay.actor_kind} />: {replay.detail}
        </li>
      ))}
    </ul>
  );
}
