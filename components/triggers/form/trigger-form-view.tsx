"use client";

import { useQuery } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import type { FormEvent } from "react";
import { Button } from "@/components/ui/button";
import { useFocusOnFault } from "@/components/ui/forms/form-faults";
import { Link } from "@/components/ui/link";
import { useToast } from "@/components/ui/toast";
import { useUnsavedWarning } from "@/lib/client/forms/use-unsaved";
import { definitionsOptions } from "@/lib/client/jobs/definitions";
import type { TriggerFields } from "@/lib/client/triggers/trigger-form";
import type { Trigger } from "@/lib/contract";
import { useReason, useTenant } from "../../shell/viewer";
import { ConflictPanel } from "./conflict-panel";
import { EventSection } from "./event-section";
import { FormAside } from "./form-aside";
import { ChoiceField, FormSection, TextField } from "./form-fields";
import { MoreSection } from "./more-section";
import { OtherFaults } from "./other-faults";
import { PayloadSection } from "./payload-section";
import { ScheduleSection } from "./schedule-section";
import { useSchedulePreview } from "./use-schedule-preview";
import { type TriggerForm, useTriggerForm } from "./use-trigger-form";

interface TriggerFormViewProps {
  readonly initial: TriggerFields;
  /** The edited trigger; null for a new one. */
  readonly trigger: Trigger | null;
  readonly tenantZone: string;
}

const KINDS = { schedule: "A schedule", event: "An event" };

/** The form of a trigger, beside a preview of what it will do. */
export function TriggerFormView({ initial, trigger, tenantZone }: TriggerFormViewProps) {
  const { slug } = useTenant();
  const router = useRouter();
  const toast = useToast();
  const definitions = useQuery(definitionsOptions(slug)).data?.data ?? [];
  const saved = ({ id, label }: Trigger) => {
    toast({ title: "Saved", detail: label });
    router.push(`/t/${slug}/jobs/triggers/${id}`);
  };
  const plain = useTriggerForm({ slug, initial, trigger, onSaved: saved });
  const preview = useSchedulePreview(slug, plain.fields);
  const form: TriggerForm = { ...plain, faults: new Map([...preview.faults, ...plain.faults]) };
  useUnsavedWarning(plain.isChanged);
  const { ref, onSubmitted } = useFocusOnFault(plain.faults);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmitted();
    form.submit();
  };
  return (
    <form ref={ref} onSubmit={submit} noValidate className="flex flex-col gap-4">
      <ConflictPanel clashes={form.clashes} />
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_minmax(20rem,26rem)]">
        <div className="flex min-w-0 flex-col gap-4">
          <FormSection title="Trigger">
            <TextField form={form} name="label" label="Name" required />
            <ChoiceField
              form={form}
              name="trigger_type"
              label="Started by"
              options={KINDS}
              disabled={trigger !== null}
            />
            <EnabledBox form={form} />
          </FormSection>
          {form.fields.trigger_type === "event" ? (
            <EventSection form={form} />
          ) : (
            <ScheduleSection form={form} tenantZone={tenantZone} />
          )}
          <PayloadSection form={form} definitions={definitions} />
          <MoreSection form={form} queues={[...new Set(definitions.map(({ queue }) => queue))].sort()} />
        </div>
        <div className="flex min-w-0 flex-col gap-4 lg:sticky lg:top-5">
          <FormAside form={form} preview={preview} />
        </div>
      </div>
      <OtherFaults form={plain} />
      <Buttons form={form} back={`/t/${slug}/jobs/triggers${trigger ? `/${trigger.id}` : ""}`} />
    </form>
  );
}

function EnabledBox({ form }: { readonly form: TriggerForm }) {
  return (
    <label className="flex min-h-6 items-center gap-2 text-sm">
      <input
        type="checkbox"
        name="is_enabled"
        checked={form.fields.is_enabled === "true"}
        onChange={(event) => form.set("is_enabled", String(event.target.checked))}
        className="size-4 accent-accent"
      />
      Enabled
    </label>
  );
}

function Buttons({ form, back }: { readonly form: TriggerForm; readonly back: string }) {
  const noWrite = useReason("triggers:write");
  const unchanged = !form.isNew && !form.isChanged ? "No changes to save." : null;
  return (
    <div className="flex flex-wrap items-center justify-end gap-2">
      <Link href={back} className="inline-flex min-h-8 items-center px-3 text-muted text-sm hover:text-ink">
        Leave
      </Link>
      <Button type="submit" variant="primary" busy={form.pending} reason={noWrite ?? unchanged}>
        {form.isNew ? "Create trigger" : form.clashes.length > 0 ? "Save over theirs" : "Save"}
      </Button>
    </div>
  );
}
