"use client";

import { useQuery } from "@tanstack/react-query";
import { TextAreaField } from "@/components/ui/forms/input-field";
import { eventsOptions } from "@/lib/client/triggers/events";
import { useTenant } from "../../shell/viewer";
import { FormSection, faultText, TextField } from "./form-fields";
import type { TriggerForm } from "./use-trigger-form";

/** Events that the product itself publishes about jobs. They are offered even before the first one occurs. */
const KNOWN = ["job.succeeded", "job.failed", "job.dead_letter", "job.canceled"];

/** The events that an event trigger listens to. */
export function EventSection({ form }: { readonly form: TriggerForm }) {
  const { slug } = useTenant();
  const seen = useQuery(eventsOptions(slug, { limit: 200 })).data?.data ?? [];
  const names = [...new Set([...seen.map(({ name }) => name), ...KNOWN])].sort();
  return (
    <FormSection title="When">
      <TextField
        form={form}
        name="event_name"
        label="Event name"
        hint="The whole name, such as provider.folder.updated"
        suggestions={names}
        mono
        required
      />
      <TextAreaField
        label="Only if"
        hint='Empty: always. For example event.size > 100 && event.kind in ["jpg", "png"]'
        error={faultText(form, "condition")}
        name="condition"
        rows={3}
        spellCheck={false}
        value={form.fields.condition}
        onText={(text) => form.set("condition", text)}
        className="font-mono"
      />
    </FormSection>
  );
}
