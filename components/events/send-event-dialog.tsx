"use client";

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Combobox } from "@/components/ui/forms/combobox";
import { Field } from "@/components/ui/forms/field";
import { FormDialog } from "@/components/ui/forms/form-dialog";
import type { FormFaults } from "@/components/ui/forms/form-faults";
import { InputField, TextAreaField } from "@/components/ui/forms/input-field";
import { useToast } from "@/components/ui/toast";
import { plural } from "@/lib/client/format";
import { faultsOf } from "@/lib/client/forms/faults";
import { useIntentKey } from "@/lib/client/forms/use-intent-key";
import { isRecord } from "@/lib/client/is-record";
import { type EventDraft, eventsOptions, usePublishEvent } from "@/lib/client/triggers/events";
import { parseJsonText } from "@/lib/client/triggers/schema-form";
import { triggersOptions } from "@/lib/client/triggers/triggers";
import type { NewEventBody } from "@/lib/contract";
import { useTenant } from "../shell/viewer";
import { EventCurl } from "./event-curl";

interface SendEventDialogProps {
  readonly draft: EventDraft;
  readonly onClose: () => void;
  readonly onSent: (id: string) => void;
}

const FIELDS = ["name", "data", "producer_id"];

/** Publishes an event by hand. It starts jobs like any other event. */
export function SendEventDialog({ draft, onClose, onSent }: SendEventDialogProps) {
  const { fields, set, data, faults, submit, pending } = useNewEvent(draft, onSent);
  return (
    <FormDialog
      wide
      title="Send an event"
      description="Matching triggers start their jobs."
      submit="Send event"
      faults={faults}
      fields={FIELDS}
      busy={pending}
      onSubmit={submit}
      onClose={onClose}
    >
      <NameField value={fields.name} error={faults.get("name")} onText={set("name")} />
      <TextAreaField
        label="Data"
        hint="A JSON object"
        error={faults.get("data")}
        rows={7}
        spellCheck={false}
        value={fields.data}
        onText={set("data")}
        className="font-mono"
      />
      <InputField
        label="Producer id (optional)"
        hint="The same id is stored only once"
        error={faults.get("producer_id")}
        autoComplete="off"
        maxLength={200}
        value={fields.producer_id}
        onText={set("producer_id")}
      />
      <EventCurl name={fields.name.trim() || "…"} data={data ?? {}} />
    </FormDialog>
  );
}

/** The state of an event that is being composed. The same content is sent under the same idempotency key. */
function useNewEvent(draft: EventDraft, onSent: (id: string) => void) {
  const { slug } = useTenant();
  const toast = useToast();
  const publish = usePublishEvent(slug);
  const [fields, setFields] = useState({
    name: draft.name,
    data: JSON.stringify(draft.data, null, 2),
    producer_id: "",
  });
  const [faults, setFaults] = useState<FormFaults>(new Map());
  const { keyFor, forgetRefused } = useIntentKey();
  const { value, fault } = parseJsonText(fields.data);
  const data = isRecord(value) ? value : null;
  const submit = () => {
    if (publish.isPending) return;
    if (!data) return setFaults(new Map([["data", fault ?? "This must be an object in braces."]]));
    const body: NewEventBody = {
      name: fields.name.trim(),
      data,
      ...(fields.producer_id === "" ? {} : { producer_id: fields.producer_id }),
    };
    publish.mutate(
      { body, key: keyFor(body) },
      {
        onSuccess: (sent) => {
          const detail = sent.duplicate ? "It was stored before." : `${plural(sent.started_count, "job")} started`;
          toast({ title: "Sent", detail });
          onSent(sent.id);
        },
        onError: (error) => {
          forgetRefused(error);
          setFaults(faultsOf(error));
        },
      },
    );
  };
  const set = (name: keyof typeof fields) => (text: string) => setFields((now) => ({ ...now, [name]: text }));
  return { fields, set, data, faults, submit, pending: publish.isPending };
}

interface NameFieldProps {
  readonly value: string;
  readonly error: string | undefined;
  readonly onText: (text: string) => void;
}

/** Suggests the names of stored events, and the names that triggers listen to. */
function NameField({ value, error, onText }: NameFieldProps) {
  const { slug } = useTenant();
  const seen = useQuery(eventsOptions(slug, { limit: 200 })).data?.data ?? [];
  const heard = useQuery(triggersOptions(slug, { kind: "event", q: null, cursor: null })).data?.data ?? [];
  const names = [...new Set([...seen.map(({ name }) => name), ...heard.flatMap((one) => one.event_name ?? [])])].sort();
  return (
    <Field label="Name" required error={error}>
      {(control) => (
        <Combobox
          {...control}
          suggestions={names.map((name) => ({ value: name }))}
          spellCheck={false}
          value={value}
          onText={onText}
          className="font-mono"
        />
      )}
    </Field>
  );
}
