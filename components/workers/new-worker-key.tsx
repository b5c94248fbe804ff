"use client";

import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Button } from "@/components/ui/button";
import { CopyButton } from "@/components/ui/copy-button";
import { Dialog, DialogActions, DialogBody } from "@/components/ui/dialog";
import { Field } from "@/components/ui/field";
import { ProblemPanel, Skeleton } from "@/components/ui/states";
import { ApiError } from "@/lib/client/http";
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
  if (made !== null) return <MadeKey text={made} onClose={onClose} />;
  if (definitions.isError) return <ProblemPanel error={definitions.error} onRetry={() => definitions.refetch()} />;
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

function KeyForm({ definitions, onMade, onClose }: FormProps) {
  const create = useCreateWorkerKey();
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>(definitions.length === 1 ? [definitions[0]?.key ?? ""] : []);
  const [queues, setQueues] = useState("");
  const [tenant, setTenant] = useState("");
  const [days, setDays] = useState(String(LIMITS.workerKeyDaysDefault));
  const error = create.error;
  const faultOf = (field: string) =>
    error instanceof ApiError
      ? (error.errors.find(({ pointer }) => pointer === `/${field}` || pointer.startsWith(`/${field}/`))?.detail ??
        null)
      : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const names = queues.split(",").flatMap((queue) => queue.trim() || []);
    const body = {
      name: name.trim(),
      definitions: [...chosen],
      queues: names.length > 0 ? names : null,
      tenant: tenant.trim() || null,
      expires_in_days: Number(days),
    };
    if (!create.isPending) create.mutate(body, { onSuccess: ({ key }) => onMade(key) });
  };
  const general =
    error && !["name", "definitions", "queues", "tenant", "expires_in_days"].some(faultOf)
      ? error.message || "Could not create the key."
      : null;
  return (
    <form onSubmit={submit} noValidate className="contents">
      <DialogBody className="flex flex-col gap-4">
        <Field label="Name" hint="Where it is used." error={faultOf("name")} required>
          {(control) => (
            <input {...control} className="field" value={name} onChange={(event) => setName(event.target.value)} />
          )}
        </Field>
        <Choice definitions={definitions} chosen={chosen} onChange={setChosen} error={faultOf("definitions")} />
        <Field label="Queues" hint="Comma-separated names. Empty: any queue." error={faultOf("queues")}>
          {(control) => (
            <input {...control} className="field" value={queues} onChange={(event) => setQueues(event.target.value)} />
          )}
        </Field>
        <Field label="Tenant" hint="Slug or id. Empty: any tenant." error={faultOf("tenant")}>
          {(control) => (
            <input {...control} className="field" value={tenant} onChange={(event) => setTenant(event.target.value)} />
          )}
        </Field>
        <Field label="Valid for, in days" hint="At most 365." error={faultOf("expires_in_days")} required>
          {(control) => (
            <input
              {...control}
              type="number"
              min={1}
              max={LIMITS.workerKeyDaysMax}
              className="field"
              value={days}
              onChange={(event) => setDays(event.target.value)}
            />
          )}
        </Field>
        {general ? (
          <p role="alert" className="text-bad text-sm">
            {general}
          </p>
        ) : null}
      </DialogBody>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        <Button type="submit" variant="primary" busy={create.isPending}>
          Create key
        </Button>
      </DialogActions>
    </form>
  );
}

interface ChoiceProps {
  readonly definitions: readonly Definition[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
  readonly error: string | null;
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

function MadeKey({ text, onClose }: { readonly text: string; readonly onClose: () => void }) {
  return (
    <>
      <DialogBody className="flex flex-col gap-3">
        <p role="status" className="text-sm">
          Copy the key now. It is shown only once and not stored.
        </p>
        <p className="flex items-center gap-1 rounded-md border border-line bg-sunken py-1 pr-1 pl-3 font-mono text-xs">
          <span className="min-w-0 flex-1 break-all" data-testid="worker-key">
            {text}
          </span>
          <CopyButton text={text} label="Copy the key" />
        </p>
      </DialogBody>
      <DialogActions>
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </>
  );
}
