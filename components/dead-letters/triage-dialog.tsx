"use client";

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog, DialogBody } from "@/components/ui/dialog";
import { DialogFormContent } from "@/components/ui/forms/form-dialog";
import type { FormFaults } from "@/components/ui/forms/form-faults";
import { TextAreaField } from "@/components/ui/forms/input-field";
import { Plain } from "@/components/ui/plain";
import { QueryProblem, Skeleton } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { useToast } from "@/components/ui/toast";
import { faultsOf } from "@/lib/client/forms/faults";
import { deadLetterOptions, useTriage } from "@/lib/client/jobs/dead-letters";
import type { DeadLetterDetail, JobEvent } from "@/lib/contract";
import { JOB_STATUSES } from "@/lib/queue/states";
import { STATUS_LOOKS } from "../jobs/status";
import { useReason, useTenant } from "../shell/viewer";

const FIELDS = ["note"];

/** The note of a dead letter, and the history of actions on its job. */
export function TriageDialog({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { slug } = useTenant();
  const query = useQuery(deadLetterOptions(slug, id));
  return (
    <Dialog wide title="Note and history" open onClose={onClose}>
      {query.data ? (
        <Loaded key={query.data.id} letter={query.data} onClose={onClose} />
      ) : (
        <DialogBody>{query.isError ? <QueryProblem query={query} /> : <Skeleton className="h-24 w-full" />}</DialogBody>
      )}
    </Dialog>
  );
}

function Loaded({ letter, onClose }: { readonly letter: DeadLetterDetail; readonly onClose: () => void }) {
  const { slug } = useTenant();
  const toast = useToast();
  const triage = useTriage(slug);
  const noUpdate = useReason("jobs:update");
  const [note, setNote] = useState(letter.note);
  const [faults, setFaults] = useState<FormFaults>(new Map());
  const submit = () =>
    triage.mutate(
      { id: letter.id, change: { note } },
      {
        onSuccess: () => {
          toast({ title: "Noted" });
          onClose();
        },
        onError: (error) => setFaults(new Map([["note", [...faultsOf(error).values()].join("; ")]])),
      },
    );
  return (
    <DialogFormContent
      submit="Save note"
      faults={faults}
      fields={FIELDS}
      busy={triage.isPending}
      reason={noUpdate}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextAreaField
        label="Note"
        error={faults.get("note")}
        rows={3}
        maxLength={2000}
        readOnly={noUpdate !== null}
        value={note}
        onText={setNote}
      />
      <History events={letter.history} />
    </DialogFormContent>
  );
}

function History({ events }: { readonly events: readonly JobEvent[] }) {
  return (
    <section aria-label="History" className="flex flex-col gap-2">
      <h3 className="font-medium text-sm">History</h3>
      {events.length === 0 ? (
        <p className="text-muted text-sm">No changes to this job yet.</p>
      ) : (
        <ol className="flex flex-col divide-y divide-line rounded-md border border-line">
          {events.map((event) => (
            <EventLine key={`${event.at} ${event.action}`} event={event} />
          ))}
        </ol>
      )}
    </section>
  );
}

function statusWords(status: string | null): string {
  const known = JOB_STATUSES.find((one) => one === status);
  return known ? STATUS_LOOKS[known].label : (status ?? "–");
}

function EventLine({ event }: { readonly event: JobEvent }) {
  const { from_status: from, to_status: to } = event;
  return (
    <li className="flex flex-col px-3 py-1.5 text-sm">
      <p className="flex flex-wrap gap-x-2">
        <span className="min-w-0 flex-1">
          {event.action.replaceAll("_", " ")}
          {from === to ? "" : `: ${statusWords(from)} → ${statusWords(to)}`}
        </span>
        <span className="text-muted text-xs">
          {event.actor ? <Plain text={event.actor} /> : event.actor_kind.replace("_", " ")} · <Time value={event.at} />
        </span>
      </p>
      {event.note ? (
        <p className="whitespace-pre-wrap break-words text-muted text-xs">
          <Plain text={event.note} />
        </p>
      ) : null}
    </li>
  );
}
