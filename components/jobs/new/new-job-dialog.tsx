"use client";

import { useQuery } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog, DialogActions, DialogBody } from "@/components/ui/dialog";
import { Field } from "@/components/ui/field";
import { ProblemPanel, Skeleton } from "@/components/ui/states";
import { useToast } from "@/components/ui/toast";
import { definitionsOptions } from "@/lib/client/jobs/definitions";
import type { Definition, Job } from "@/lib/contract";
import { useTenant } from "../../shell/viewer";
import { NewJobOptions, OtherJobFaults } from "./new-job-options";
import { PayloadFields } from "./payload-fields";
import { type OptionName, useNewJob } from "./use-new-job";

/** Chooses a definition and fills in its form. The form and its idempotency key are new each time it opens. */
export function NewJobDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  return (
    <Dialog wide title="New job" description="Choose a definition and its payload." open={open} onClose={onClose}>
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
          No definition is active, so no job can run. Ask the super admin of this installation to add one.
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
    setState((now) => ({
      ...now,
      options: { ...now.options, [name]: value },
      faults: without(now.faults, name),
    }));
  const setValue = (name: string, value: string) =>
    setState((now) => ({
      ...now,
      values: { ...now.values, [name]: value },
      faults: without(now.faults, `payload.${name}`),
    }));
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
            onChange={setValue}
          />
        )}
        <NewJobOptions options={state.options} faults={state.faults} onChange={setOption} />
        <OtherJobFaults
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

/** Removes a field's problems once its value changes. */
function without(faults: ReadonlyMap<string, string>, name: string): ReadonlyMap<string, string> {
  return new Map([...faults].filter(([about]) => about !== name));
}

function payloadFaults(faults: ReadonlyMap<string, string>): Map<string, string> {
  return new Map(
    [...faults].filter(([name]) => name.startsWith("payload.")).map(([name, fault]) => [name.slice(8), fault]),
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
