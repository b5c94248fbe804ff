"use client";

import { type FormEvent, useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog, DialogActions, DialogBody } from "@/components/ui/dialog";
import { Field } from "@/components/ui/field";
import { randomKey } from "@/lib/client/forms/random-key";
import { postLimit } from "@/lib/client/queues";
import type { CreateLimit } from "@/lib/contract";
import { changeFaultsOf, useChange } from "./use-change";

const SCOPES = {
  queue: "A queue",
  definition: "A definition",
  tenant_queue: "A queue, by tenant",
  tenant_definition: "A definition, by tenant",
} as const;
const EMPTY = { scope: "queue" as CreateLimit["scope"], name: "", tenant: "", running: "", starts: "", burst: "" };
type Fields = typeof EMPTY;

/** The dialog for a new limit. */
export function LimitDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  return (
    <Dialog
      title="New limit"
      description="Enforced across all workers. Running jobs are not affected."
      open={open}
      onClose={onClose}
    >
      <LimitForm onClose={onClose} />
    </Dialog>
  );
}

function LimitForm({ onClose }: { readonly onClose: () => void }) {
  const [form, setForm] = useState<Fields>(EMPTY);
  const [faults, setFaults] = useState<ReturnType<typeof changeFaultsOf>>({ fields: new Map(), general: null });
  const create = useChange({
    send: () => postLimit(bodyOf(form), randomKey()),
    done: "Limit created",
    onDone: onClose,
    onRefused: (error) => setFaults(changeFaultsOf(error)),
  });
  const set = (name: keyof Fields) => (event: { target: { value: string } }) =>
    setForm((now) => ({ ...now, [name]: event.target.value }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const fields = notNumbers(form);
    if (fields.size > 0) setFaults({ fields, general: null });
    else create.mutate(undefined);
  };
  const text = (
    name: keyof Fields,
    label: string,
    { at, ...more }: { at: string; hint?: string; required?: boolean },
  ) => (
    <Field label={label} error={faults.fields.get(at)} {...more}>
      {(control) => <input {...control} autoComplete="off" value={form[name]} onChange={set(name)} className="field" />}
    </Field>
  );
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
        {text("name", "Name", { at: form.scope.endsWith("queue") ? "queue" : "definition_key", required: true })}
        {form.scope.startsWith("tenant_")
          ? text("tenant", "Tenant", { at: "tenant", hint: "Empty: each tenant separately" })
          : null}
        {text("running", "At once", { at: "max_running", hint: "How many jobs may run at the same time" })}
        <div className="grid gap-4 sm:grid-cols-2">
          {text("starts", "Starts a second", { at: "starts_per_second" })}
          {text("burst", "In a burst", { at: "burst" })}
        </div>
        {faults.general ? (
          <p role="alert" className="text-bad text-sm">
            {faults.general}
          </p>
        ) : null}
      </DialogBody>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        <Button type="submit" variant="primary" busy={create.isPending}>
          Set the limit
        </Button>
      </DialogActions>
    </form>
  );
}

function bodyOf({ scope, name, tenant, running, starts, burst }: Fields): CreateLimit {
  const numbers = {
    ...numberOf("max_running", running),
    ...numberOf("starts_per_second", starts),
    ...numberOf("burst", burst),
  };
  const forTenant = tenant === "" ? {} : { tenant };
  if (scope === "queue") return { scope, queue: name, ...numbers };
  if (scope === "definition") return { scope, definition_key: name, ...numbers };
  return scope === "tenant_queue"
    ? { scope, queue: name, ...forTenant, ...numbers }
    : { scope, definition_key: name, ...forTenant, ...numbers };
}

function numberOf(field: string, text: string): Record<string, number> {
  return text.trim() === "" ? {} : { [field]: Number(text) };
}

/** Returns the fields that are not numbers, under their names in the API. */
function notNumbers({ running, starts, burst }: Fields): ReadonlyMap<string, string> {
  const texts = { max_running: running, starts_per_second: starts, burst };
  const wrong = Object.entries(texts).filter(([, text]) => !Number.isFinite(Number(text)));
  return new Map(wrong.map(([field]) => [field, "must be a number"]));
}
