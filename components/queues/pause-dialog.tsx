"use client";

import { type FormEvent, useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog, DialogActions, DialogBody } from "@/components/ui/dialog";
import { Field } from "@/components/ui/field";
import { randomKey } from "@/lib/client/forms/random-key";
import { setPause } from "@/lib/client/queues";
import type { CreatePause } from "@/lib/contract";
import { changeFaultsOf, useChange } from "./use-change";

export interface PauseStart {
  readonly scope: CreatePause["scope"];
  readonly name: string;
}

const SCOPES = { queue: "A queue", definition: "A definition", tenant: "A tenant", all: "Everything" } as const;
const NAMED = { queue: "queue", definition: "definition_key", tenant: "tenant" } as const;

/** Asks what to pause, why, and until when. */
export function PauseDialog({ start, onClose }: { readonly start: PauseStart | null; readonly onClose: () => void }) {
  return (
    <Dialog
      title="Pause"
      description="No new jobs start. Running jobs continue, and jobs can still be enqueued."
      open={start !== null}
      onClose={onClose}
    >
      {start ? <PauseForm start={start} onClose={onClose} /> : null}
    </Dialog>
  );
}

function PauseForm({ start, onClose }: { readonly start: PauseStart; readonly onClose: () => void }) {
  const [form, setForm] = useState({ scope: start.scope, name: start.name, reason: "", until: "" });
  const [faults, setFaults] = useState<ReturnType<typeof changeFaultsOf>>({ fields: new Map(), general: null });
  const pause = useChange({
    send: () => setPause(bodyOf(form), randomKey()),
    done: "Paused",
    onDone: onClose,
    onRefused: (error) => setFaults(changeFaultsOf(error)),
  });
  const set = (name: keyof typeof form) => (event: { target: { value: string } }) =>
    setForm((now) => ({ ...now, [name]: event.target.value }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    pause.mutate(undefined);
  };
  const named = form.scope === "all" ? null : NAMED[form.scope];
  return (
    <form onSubmit={submit} noValidate className="contents">
      <DialogBody className="flex flex-col gap-4">
        <Field label="What">
          {(control) => (
            <select {...control} value={form.scope} onChange={set("scope")} className="field">
              {Object.entries(SCOPES).map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Field>
        {named ? (
          <Field label="Name" required error={faults.fields.get(named)}>
            {(control) => (
              <input {...control} autoComplete="off" value={form.name} onChange={set("name")} className="field" />
            )}
          </Field>
        ) : null}
        <Field label="Reason" required hint="Shown as the wait reason of each job" error={faults.fields.get("reason")}>
          {(control) => (
            <input {...control} maxLength={500} value={form.reason} onChange={set("reason")} className="field" />
          )}
        </Field>
        <Field
          label="Until"
          hint="Empty: until resumed. In this browser's time zone"
          error={faults.fields.get("until")}
        >
          {(control) => (
            <input {...control} type="datetime-local" value={form.until} onChange={set("until")} className="field" />
          )}
        </Field>
        {faults.general ? (
          <p role="alert" className="text-bad text-sm">
            {faults.general}
          </p>
        ) : null}
      </DialogBody>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        <Button type="submit" variant="primary" busy={pause.isPending}>
          Pause
        </Button>
      </DialogActions>
    </form>
  );
}

interface PauseFields {
  readonly scope: CreatePause["scope"];
  readonly name: string;
  readonly reason: string;
  readonly until: string;
}

function bodyOf({ scope, name, reason, until }: PauseFields): CreatePause {
  const common = { reason, ...(until === "" ? {} : { until: new Date(until).toISOString() }) };
  if (scope === "all") return { scope, ...common };
  if (scope === "queue") return { scope, queue: name, ...common };
  return scope === "definition" ? { scope, definition_key: name, ...common } : { scope, tenant: name, ...common };
}
