"use client";

import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog, DialogActions, DialogBody } from "@/components/ui/dialog";
import { Field } from "@/components/ui/field";
import { useToast } from "@/components/ui/toast";
import { plural } from "@/lib/client/format";
import { faultsOf } from "@/lib/client/forms/faults";
import { randomKey } from "@/lib/client/forms/random-key";
import { isRecord } from "@/lib/client/is-record";
import { eventsOptions, usePublishEvent } from "@/lib/client/triggers/events";
import { parseJsonText } from "@/lib/client/triggers/schema-form";
import { triggersOptions } from "@/lib/client/triggers/triggers";
import type { NewEventBody } from "@/lib/contract";
import { useTenant } from "../shell/viewer";
import { EventCurl } from "./event-curl";
import type { EventDraft } from "./event-draft";

interface SendEventDialogProps {
  readonly draft: EventDraft;
  readonly onClose: () => void;
  readonly onSent: (id: string) => void;
}

/** Publishes an event by hand. It starts jobs like any other event. */
export function SendEventDialog(props: SendEventDialogProps) {
  return (
    <Dialog
      wide
      title="Send an event"
      description="Matching triggers start their jobs."
      open
      onClose={props.onClose}
    >
      <SendForm {...props} />
    </Dialog>
  );
}

function SendForm({ draft, onClose, onSent }: SendEventDialogProps) {
  const { slug } = useTenant();
  const toast = useToast();
  const publish = usePublishEvent(slug);
  const [fields, setFields] = useState({
    name: draft.name,
    data: JSON.stringify(draft.data, null, 2),
    producer_id: "",
  });
  const [faults, setFaults] = useState<ReadonlyMap<string, string>>(new Map());
  const intent = useRef({ text: "", key: "" });
  const { value, fault } = parseJsonText(fields.data);
  const data = isRecord(value) ? value : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (publish.isPending) return;
    if (!data) return setFaults(new Map([["data", fault ?? "This must be an object in braces."]]));
    const body: NewEventBody = {
      name: fields.name.trim(),
      data,
      ...(fields.producer_id === "" ? {} : { producer_id: fields.producer_id }),
    };
    const text = JSON.stringify(body);
    if (intent.current.text !== text) intent.current = { text, key: randomKey() };
    publish.mutate(
      { body, key: intent.current.key },
      {
        onSuccess: (sent) => {
          const detail = sent.duplicate ? "It was stored before." : `${plural(sent.started_count, "job")} started`;
          toast({ title: "Sent", detail });
          onSent(sent.id);
        },
        onError: (error) => {
          intent.current = { text: "", key: "" };
          setFaults(faultsOf(error));
        },
      },
    );
  };
  const set = (name: keyof typeof fields) => (event: { target: { value: string } }) =>
    setFields((now) => ({ ...now, [name]: event.target.value }));
  return (
    <form onSubmit={submit} noValidate className="contents">
      <DialogBody className="flex flex-col gap-4">
        <Field label="Name" required error={faults.get("name")}>
          {(control) => (
            <input
              {...control}
              list="sent-names"
              autoComplete="off"
              spellCheck={false}
              value={fields.name}
              onChange={set("name")}
              className="field font-mono"
            />
          )}
        </Field>
        <Names />
        <Field label="Data" hint="A JSON object" error={faults.get("data")}>
          {(control) => (
            <textarea
              {...control}
              rows={7}
              spellCheck={false}
              value={fields.data}
              onChange={set("data")}
              className="field font-mono"
            />
          )}
        </Field>
        <Field label="Producer id (optional)" hint="The same id is stored only once" error={faults.get("producer_id")}>
          {(control) => (
            <input
              {...control}
              autoComplete="off"
              maxLength={200}
              value={fields.producer_id}
              onChange={set("producer_id")}
              className="field"
            />
          )}
        </Field>
        <p role="alert" className="text-bad text-sm empty:hidden">
          {faults.get("")}
        </p>
        <EventCurl name={fields.name.trim() || "…"} data={data ?? {}} />
      </DialogBody>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        <Button type="submit" variant="primary" busy={publish.isPending}>
          Send event
        </Button>
      </DialogActions>
    </form>
  );
}

/** Names of stored events, and names that triggers listen to. */
function Names() {
  const { slug } = useTenant();
  const seen = useQuery(eventsOptions(slug, { limit: 200 })).data?.data ?? [];
  const heard = useQuery(triggersOptions(slug, { kind: "event", q: null, cursor: null })).data?.data ?? [];
  const names = [...new Set([...seen.map(({ name }) => name), ...heard.flatMap((one) => one.event_name ?? [])])].sort();
  return (
    <datalist id="sent-names">
      {names.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
