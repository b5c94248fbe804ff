"use client";

import { useQuery } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog, DialogActions, DialogBody } from "@/components/ui/dialog";
import { Field } from "@/components/ui/field";
import { ProblemPanel, Skeleton } from "@/components/ui/states";
import { useToast } from "@/components/ui/toast";
import { definitionsOptions } from "@/lib/client/definitions";
import type { Definition, Job } from "@/lib/contract";
import { LIMITS } from "@/lib/contract/limits";
import { useTenant } from "../shell/viewer";
import { PayloadFields } from "./payload-fields";
import { type OptionName, useNewJob } from "./use-new-job";

/** Chooses a definition and fills in its form. A fresh form, and a fresh intent, each time it opens. */
export function NewJobDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  return (
    <Dialog wide title="New job" description="What runs, and on what." open={open} onClose={onClose}>
      <NewJob onClose={onClose} />
    </Dialog>
  );
}

function NewJob({ onClose }: { readonly onClose: () => void }) {
  const tenant = useTenant();
  const definitions = useQuery(definitionsOptions(tenant.slug));
  const active = definitions.data?.data.filter((definition) => definition.is_active) ?? [];
  if (definitions.isError) return <ProblemPanel error={definitions.error} onRetry={() => definitions.refetch()} />;
  if (definitions.isPending) return <FormSkeleton />;
  if (active.length === 0) {
    return (
      <DialogBody>
        <p className="py-6 text-center text-muted text-sm">
          Nothing can run yet: no definition is active. The super admin of this installation adds them.
        </p>
      </DialogBody>
    );
  }
  return <NewJobForm definitions={active} onClose={onClose} />;
}

function NewJobForm({
  definitions,
  onClose,
}: {
  readonly definitions: readonly Definition[];
  readonly onClose: () => void;
}) {
  const tenant = useTenant();
  const router = useRouter();
  const toast = useToast();
  const [key, setKey] = useState(definitions[0]?.key ?? "");
  const definition = definitions.find((candidate) => candidate.key === key);
  const created = (job: Job) => {
    onClose();
    toast(
      job.deduplicated
        ? { title: "Already there", detail: "Another job holds this dedupe key." }
        : { title: "Job queued" },
    );
    router.push(`/t/${tenant.slug}/jobs/${job.id}`);
  };
  const { state, setState, form, submit, pending } = useNewJob(tenant.slug, definition, created);
  const formRef = useFocusOnFault(state.faults);
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    submit();
  };
  const choose = (next: string) => {
    setKey(next);
    setState((now) => ({ ...now, values: {}, faults: new Map(), general: null }));
  };
  const setOption = (name: OptionName, value: string) =>
    setState((now) => ({ ...now, options: { ...now.options, [name]: value } }));
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="contents">
      <DialogBody className="flex flex-col gap-4">
        <Field label="Definition" hint={definition?.description} error={state.faults.get("definition_key")} required>
          {(control) => (
            <select
              {...control}
              name="definition_key"
              value={key}
              onChange={(event) => choose(event.target.value)}
              className="field"
            >
              {definitions.map((candidate) => (
                <option key={candidate.key} value={candidate.key}>
                  {candidate.key}
                </option>
              ))}
            </select>
          )}
        </Field>
        {form.freeform ? (
          <Field label="Payload" hint="JSON" error={state.faults.get("payload")}>
            {(control) => (
              <textarea
                {...control}
                name="payload"
                rows={8}
                spellCheck={false}
                value={state.freeText}
                onChange={(event) => setState((now) => ({ ...now, freeText: event.target.value }))}
                className="field font-mono"
              />
            )}
          </Field>
        ) : (
          <PayloadFields
            key={key}
            fields={form.fields}
            values={state.values}
            faults={payloadFaults(state.faults)}
            onChange={(name, value) => setState((now) => ({ ...now, values: { ...now.values, [name]: value } }))}
          />
        )}
        <Options options={state.options} faults={state.faults} onChange={setOption} />
        <OtherFaults
          faults={state.faults}
          known={form.fields.map((field) => `payload.${field.name}`)}
          freeform={form.freeform}
          general={state.general}
        />
      </DialogBody>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        <Button type="submit" variant="primary" busy={pending}>
          {pending ? "Enqueuing…" : "Enqueue job"}
        </Button>
      </DialogActions>
    </form>
  );
}

function payloadFaults(faults: ReadonlyMap<string, string>): Map<string, string> {
  return new Map(
    [...faults].filter(([name]) => name.startsWith("payload.")).map(([name, fault]) => [name.slice(8), fault]),
  );
}

interface OptionsProps {
  readonly options: Readonly<Record<OptionName, string>>;
  readonly faults: ReadonlyMap<string, string>;
  readonly onChange: (name: OptionName, value: string) => void;
}

function Options({ options, faults, onChange }: OptionsProps) {
  const hasFault = ["priority", "scheduled_for", "dedupe_key"].some((name) => faults.has(name));
  return (
    <details className="group rounded-md border border-line" open={hasFault || undefined}>
      <summary className="flex min-h-9 items-center px-3 font-medium text-sm">Options</summary>
      <div className="grid gap-4 border-line border-t p-3 sm:grid-cols-2">
        <Field
          label="Priority"
          hint={`1 goes first, ${LIMITS.priorityMax} last; 100 when empty`}
          error={faults.get("priority")}
        >
          {(control) => (
            <input
              {...control}
              name="priority"
              inputMode="numeric"
              value={options.priority}
              onChange={(event) => onChange("priority", event.target.value)}
              className="field"
            />
          )}
        </Field>
        <Field label="Not before" hint="In this browser's time zone" error={faults.get("scheduled_for")}>
          {(control) => (
            <input
              {...control}
              name="scheduled_for"
              type="datetime-local"
              value={options.scheduled_for}
              onChange={(event) => onChange("scheduled_for", event.target.value)}
              className="field"
            />
          )}
        </Field>
        <Field
          label="Dedupe key"
          hint="While a job with this key lives, no second one is made"
          error={faults.get("dedupe_key")}
        >
          {(control) => (
            <input
              {...control}
              name="dedupe_key"
              maxLength={LIMITS.dedupeKeyLength}
              autoComplete="off"
              value={options.dedupe_key}
              onChange={(event) => onChange("dedupe_key", event.target.value)}
              className="field"
            />
          )}
        </Field>
      </div>
    </details>
  );
}

interface OtherFaultsProps {
  readonly faults: ReadonlyMap<string, string>;
  readonly known: readonly string[];
  readonly freeform: boolean;
  readonly general: string | null;
}

/** Faults that no field on the screen can show. */
function OtherFaults({ faults, known, freeform, general }: OtherFaultsProps) {
  const shown = new Set([
    ...known,
    "definition_key",
    "priority",
    "scheduled_for",
    "dedupe_key",
    ...(freeform ? ["payload"] : []),
  ]);
  const others = [...faults]
    .filter(([name]) => !shown.has(name))
    .map(([name, fault]) => `${name || "request"}: ${fault}`);
  const lines = general ? [general, ...others] : others;
  return (
    <div role="alert" className="text-bad text-sm empty:hidden">
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
    </div>
  );
}

function useFocusOnFault(faults: ReadonlyMap<string, string>) {
  const ref = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (faults.size > 0) ref.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [faults]);
  return ref;
}

function FormSkeleton() {
  return (
    <DialogBody className="flex flex-col gap-4">
      <Skeleton className="h-8 w-full" />
      <Skeleton className="h-8 w-full" />
      <Skeleton className="h-8 w-full" />
    </DialogBody>
  );
}
