"use client";

import { parseJsonText } from "@/lib/client/triggers/schema-form";
import type { TriggerFields } from "@/lib/client/triggers/trigger-form";
import type { TestTarget } from "@/lib/client/triggers/triggers";
import { EventTest } from "../event-test/event-test";
import { SchedulePreviewPanel } from "../schedule-preview";
import type { SchedulePreviewState } from "./use-schedule-preview";
import type { TriggerForm } from "./use-trigger-form";

interface FormAsideProps {
  readonly form: TriggerForm;
  readonly preview: SchedulePreviewState;
}

/** What the trigger in the form will do: its next instants, or what an event would start. */
export function FormAside({ form, preview }: FormAsideProps) {
  if (form.fields.trigger_type === "event") {
    const { event_name: name, definition_key: definition } = form.fields;
    return <EventTest eventName={name.trim()} target={draftOf(form.fields)} definitionKey={definition} />;
  }
  if (preview.none) return null;
  return <SchedulePreviewPanel preview={preview.preview} fault={preview.fault} busy={preview.busy} />;
}

/** Returns the parts of the form that a test of an event trigger needs; null while they are incomplete. */
function draftOf(fields: TriggerFields): TestTarget | null {
  const template = parseJsonText(fields.payload_template);
  const name = fields.event_name.trim();
  if (template.fault || name === "") return null;
  const window = Number(fields.dedupe_window_seconds);
  return {
    draft: {
      event_name: name,
      condition: fields.condition.trim() || null,
      payload_template: template.value,
      dedupe_key_template: fields.dedupe_key_template.trim() || null,
      ...(fields.definition_key === "" ? {} : { definition_key: fields.definition_key }),
      ...(Number.isInteger(window) && window >= 0 ? { dedupe_window_seconds: window } : {}),
      ...(fields.label.trim() === "" ? {} : { label: fields.label.trim() }),
    },
  };
}
