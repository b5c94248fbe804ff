"use client";

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog, DialogBody } from "@/components/ui/dialog";
import { DialogFormContent } from "@/components/ui/forms/form-dialog";
import type { FormFaults } from "@/components/ui/forms/form-faults";
import { InputField } from "@/components/ui/forms/input-field";
import { ShownOnce } from "@/components/ui/shown-once";
import { QueryProblem, Skeleton } from "@/components/ui/states";
import { faultsOf } from "@/lib/client/forms/faults";
import { remoteDefinitionsOptions, useCreateWorkerKey } from "@/lib/client/worker-keys";
import type { Definition } from "@/lib/contract";
import { LIMITS } from "@/lib/contract/limits";

/** Creates a key and shows its text once. */
export function NewWorkerKeyDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  return (
    <Dialog
      title="New worker key"
      description="It can only claim jobs of the chosen definitions."
      open={open}
      onClose={onClose}
    >
      <NewKey onClose={onClose} />
    </Dialog>
  );
}

function NewKey({ onClose }: { readonly onClose: () => void }) {
  const definitions = useQuery(remoteDefinitionsOptions());
  const [made, setMade] = useState<string | null>(null);
  if (made !== null) {
    return (
      <ShownOnce
        secret={made}
        note="Copy the key now. It is shown only once and not stored."
        copyLabel="Copy the key"
        testId="worker-key"
        onClose={onClose}
      />
    );
  }
  if (definitions.isError) return <QueryProblem query={definitions} />;
  if (definitions.isPending) {
    return (
      <DialogBody>
        <Skeleton className="h-24 w-full" />
      </DialogBody>
    );
  }
  if (definitions.data.length === 0) {
    return (
      <DialogBody>
        <p className="py-4 text-muted text-sm">
          No definition is for remote workers yet. Create one with{" "}
          <code className="font-mono">{'"executor": "remote"'}</code>: POST /api/v1/admin/jobs/definitions.
        </p>
      </DialogBody>
    );
  }
  return <KeyForm definitions={definitions.data} onMade={setMade} onClose={onClose} />;
}

interface FormProps {
  readonly definitions: readonly Definition[];
  readonly onMade: (key: string | null) => void;
  readonly onClose: () => void;
}

const FIELDS = ["name", "definitions", "queues", "tenant", "expires_in_days"];

function KeyForm({ definitions, onMade, onClose }: FormProps) {
  const create = useCreateWorkerKey();
  const [fields, setFields] = useState({
    name: "",
    queues: "",
    tenant: "",
    expires_in_days: String(LIMITS.workerKeyDaysDefault),
  });
  const [chosen, setChosen] = useState<readonly string[]>(definitions.length === 1 ? [definitions[0]?.key ?? ""] : []);
  const [faults, setFaults] = useState<FormFaults>(new Map());
  const submit = () => {
    const onError = (error: Error) => setFaults(faultsOf(error));
    if (!create.isPending) create.mutate(bodyOf(fields, chosen), { onSuccess: ({ key }) => onMade(key), onError });
  };
  const texts = (name: keyof typeof fields) => ({
    error: faults.get(name),
    value: fields[name],
    onText: (text: string) => setFields((now) => ({ ...now, [name]: text })),
  });
  return (
    <DialogFormContent
      submit="Create key"
      faults={faults}
      fields={FIELDS}
      busy={create.isPending}
      onSubmit={submit}
      onClose={onClose}
    >
      <InputField label="Name" hint="Where it is used." required {...texts("name")} />
      <Choice definitions={definitions} chosen={chosen} onChange={setChosen} error={faults.get("definitions")} />
      <InputField label="Queues" hint="Comma-separated names. Empty: any queue." {...texts("queues")} />
      <InputField label="Tenant" hint="Slug or id. Empty: any tenant." {...texts("tenant")} />
      <InputField
        label="Valid for, in days"
        hint="At most 365."
        required
        type="number"
        min={1}
        max={LIMITS.workerKeyDaysMax}
        {...texts("expires_in_days")}
      />
    </DialogFormContent>
  );
}

interface KeyFields {
  readonly name: string;
  /** Comma-separated names. */
  readonly queues: string;
  readonly tenant: string;
  readonly expires_in_days: string;
}

function bodyOf({ name, queues, tenant, expires_in_days: days }: KeyFields, definitions: readonly string[]) {
  const names = queues.split(",").flatMap((queue) => queue.trim() || []);
  return {
    name: name.trim(),
    definitions: [...definitions],
    queues: names.length > 0 ? names : null,
    tenant: tenant.trim() || null,
    expires_in_days: Number(days),
  };
}

interface ChoiceProps {
  readonly definitions: readonly Definition[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
  readonly error: string | undefined;
}

function Choice({ definitions, chosen, onChange, error }: ChoiceProps) {
  return (
    <fieldset className="flex flex-col gap-1">
      <legend className="mb-1 font-medium text-sm">Definitions</legend>
      {definitions.map(({ key }) => (
        <label key={key} className="flex min-h-7 items-center gap-2 font-mono text-sm">
          <input
            type="checkbox"
            checked={chosen.includes(key)}
            onChange={(event) =>
              onChange(event.target.checked ? [...chosen, key] : chosen.filter((other) => other !== key))
            }
          />
          {key}
        </label>
      ))}
      {error ? <p className="text-bad text-xs">{error}</p> : null}
    </fieldset>
  );
}
