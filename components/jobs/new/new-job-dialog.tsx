/*
 * The dialog for a new job: a definition, its payload as fields made from the definition's schema or as JSON, and
 * options. A request that got no answer can be sent again unchanged and creates one job, because it keeps its
 * idempotency key. A problem that the server reports is shown at its field, or below the fields.
 *
 * Start with `NewJobDialog` below, then `use-new-job.ts` (state and request) and `payload-fields.tsx`.
 */

"use client";

import { useQuery } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { Dialog, DialogBody } from "@/components/ui/dialog";
import { Field } from "@/components/ui/forms/field";
import { DialogFormContent } from "@/components/ui/forms/form-dialog";
import type { FormFaults } from "@/components/ui/forms/form-faults";
import { TextAreaField } from "@/components/ui/forms/input-field";
import { Select, sameText } from "@/components/ui/forms/select";
import { QueryProblem, Skeleton } from "@/components/ui/states";
import { useToast } from "@/components/ui/toast";
import { definitionsOptions } from "@/lib/client/jobs/definitions";
import type { Definition, EnqueueAnswer } from "@/lib/contract";
import { useTenant } from "../../shell/viewer";
import { NewJobOptions } from "./new-job-options";
import { PayloadFields } from "./payload-fields";
import { OPTION_NAMES, useNewJob } from "./use-new-job";

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
  if (definitions.isError) return <QueryProblem query={definitions} />;
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

interface NewJobFormProps {
  readonly definitions: readonly Definition[];
  readonly onClose: () => void;
}

function NewJobForm({ definitions, onClose }: NewJobFormProps) {
  const { slug } = useTenant();
  const router = useRouter();
  const toast = useToast();
  const created = (made: EnqueueAnswer) => {
    onClose();
    toast(
      made.deduplicated
        ? { title: "Already there", detail: "Another job holds this dedupe key." }
        : { title: "Job queued" },
    );
    router.push(`/t/${slug}/jobs/${made.id}`);
  };
  const job = useNewJob(slug, definitions, created);
  const { definition, form, pending } = job;
  const { options, faults } = job.state;
  const inPayload = form.freeform ? ["payload"] : form.fields.map(({ name }) => `payload.${name}`);
  return (
    <DialogFormContent
      submit={pending ? "Enqueuing…" : "Enqueue job"}
      faults={faults}
      fields={["definition_key", ...OPTION_NAMES, ...inPayload]}
      busy={pending}
      onSubmit={job.submit}
      onClose={onClose}
    >
      <Field label="Definition" hint={definition?.description} error={faults.get("definition_key")} required>
        {(control) => (
          <Select
            {...control}
            name="definition_key"
            options={sameText(definitions.map(({ key }) => key))}
            value={definition?.key}
            onChoose={job.choose}
          />
        )}
      </Field>
      <PayloadInput key={definition?.key} job={job} />
      <NewJobOptions options={options} faults={faults} onChange={job.set.option} />
    </DialogFormContent>
  );
}

/** The payload: a field for each property, or JSON if the schema is not a plain list of properties. */
function PayloadInput({ job: { form, state, set } }: { readonly job: ReturnType<typeof useNewJob> }) {
  if (!form.freeform) {
    const faults = payloadFaults(state.faults);
    return <PayloadFields fields={form.fields} values={state.values} faults={faults} onChange={set.value} />;
  }
  return (
    <TextAreaField
      label="Payload"
      hint="JSON"
      error={state.faults.get("payload")}
      name="payload"
      rows={8}
      spellCheck={false}
      value={state.freeText}
      onText={set.freeText}
      className="font-mono"
    />
  );
}

function payloadFaults(faults: FormFaults): FormFaults {
  return new Map(
    [...faults].filter(([name]) => name.startsWith("payload.")).map(([name, fault]) => [name.slice(8), fault]),
  );
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
