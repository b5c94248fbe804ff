"use client";

import { useState } from "react";
import { Field } from "@/components/ui/forms/field";
import { FormDialog } from "@/components/ui/forms/form-dialog";
import type { FormFaults } from "@/components/ui/forms/form-faults";
import { InputField } from "@/components/ui/forms/input-field";
import { Select } from "@/components/ui/forms/select";
import { faultsOf } from "@/lib/client/forms/faults";
import { postLimit } from "@/lib/client/queues";
import type { CreateLimit, Queue } from "@/lib/contract";
import { NameField } from "./name-field";
import { useCreation } from "./use-change";

const SCOPES = {
  queue: "A queue",
  definition: "A definition",
  tenant_queue: "A queue, by tenant",
  tenant_definition: "A definition, by tenant",
} as const;
const EMPTY = { scope: "queue" as CreateLimit["scope"], name: "", tenant: "", running: "", starts: "", burst: "" };
/** The fields that show their own faults, under their names in the API. */
const FIELDS = ["tenant", "max_running", "starts_per_second", "burst"];
type Fields = typeof EMPTY;

interface LimitDialogProps {
  /** Offered as names. */
  readonly queues: readonly Queue[];
  readonly onClose: () => void;
}

/** The dialog for a new limit. */
export function LimitDialog({ queues, onClose }: LimitDialogProps) {
  const { form, set, faults, submit, pending } = useNewLimit(onClose);
  const named = form.scope.endsWith("queue") ? "queue" : "definition_key";
  const texts = (name: keyof Fields, at: string) => ({
    error: faults.get(at),
    autoComplete: "off",
    value: form[name],
    onText: set(name),
  });
  return (
    <FormDialog
      title="New limit"
      description="Enforced across all workers. Running jobs are not affected."
      submit="Set the limit"
      faults={faults}
      fields={[named, ...FIELDS]}
      busy={pending}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label="What">
        {(control) => (
          <Select {...control} options={Object.entries(SCOPES)} value={form.scope} onChoose={set("scope")} />
        )}
      </Field>
      <NameField target={named} queues={queues} {...texts("name", named)} />
      {form.scope.startsWith("tenant_") ? (
        <InputField label="Tenant" hint="Empty: each tenant separately" {...texts("tenant", "tenant")} />
      ) : null}
      <InputField label="At once" hint="How many jobs may run at the same time" {...texts("running", "max_running")} />
      <div className="grid gap-4 sm:grid-cols-2">
        <InputField label="Starts a second" {...texts("starts", "starts_per_second")} />
        <InputField label="In a burst" {...texts("burst", "burst")} />
      </div>
    </FormDialog>
  );
}

/** The state of a limit that is being composed. */
function useNewLimit(onClose: () => void) {
  const [form, setForm] = useState<Fields>(EMPTY);
  const [faults, setFaults] = useState<FormFaults>(new Map());
  const create = useCreation({
    body: () => bodyOf(form),
    post: postLimit,
    done: "Limit created",
    onDone: onClose,
    onRefused: (error) => setFaults(faultsOf(error)),
  });
  const set = (name: keyof Fields) => (text: string) => setForm((now) => ({ ...now, [name]: text }));
  const submit = () => {
    const wrong = notNumbers(form);
    if (wrong.size > 0) setFaults(wrong);
    else create.mutate(undefined);
  };
  return { form, set, faults, submit, pending: create.isPending };
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
