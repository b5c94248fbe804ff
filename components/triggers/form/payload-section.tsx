"use client";

import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { Button } from "@/components/ui/button";
import { TextAreaField } from "@/components/ui/forms/input-field";
import { providersOptions } from "@/lib/client/assets";
import { type SchemaField, schemaForm } from "@/lib/client/triggers/schema-form";
import type { Definition } from "@/lib/contract";
import { useTenant } from "../../shell/viewer";
import { FormSection, faultText, SelectField } from "./form-fields";
import { withPlaceholder } from "./insert-placeholder";
import type { TriggerForm } from "./use-trigger-form";

const PLACEHOLDERS = {
  event: ["event", "meta.name", "meta.id", "meta.received_at", "meta.correlation_id", "trigger.id", "trigger.label"],
  schedule: ["schedule.at", "schedule.local", "trigger.id", "trigger.label"],
} as const;

interface PayloadSectionProps {
  readonly form: TriggerForm;
  readonly definitions: readonly Definition[];
}

/** The definition that the trigger starts, and its payload. */
export function PayloadSection({ form, definitions }: PayloadSectionProps) {
  const { definition_key: key } = form.fields;
  const chosen = definitions.find((definition) => definition.key === key);
  const active = definitions.filter((definition) => definition.is_active || definition.key === key);
  const names = Object.fromEntries(["", ...active.map((one) => one.key)].map((name) => [name, name || "Choose…"]));
  if (key !== "") names[key] = key;
  const fields = schemaForm(chosen?.arg_schema ?? {}).fields;
  return (
    <FormSection title="What it starts">
      <SelectField
        form={form}
        name="definition_key"
        label="Definition"
        hint={chosen?.description || undefined}
        options={names}
        required
      />
      <TemplateField form={form} fields={fields} />
    </FormSection>
  );
}

function TemplateField({ form, fields }: { readonly form: TriggerForm; readonly fields: readonly SchemaField[] }) {
  const area = useRef<HTMLTextAreaElement>(null);
  const kind = form.fields.trigger_type === "event" ? "event" : "schedule";
  const insert = (text: string) => {
    const at = area.current;
    const value = form.fields.payload_template;
    const [from, to] = at ? [at.selectionStart, at.selectionEnd] : [value.length, value.length];
    form.set("payload_template", withPlaceholder(value, { from, to, text }));
    at?.focus();
  };
  return (
    <div className="flex flex-col gap-2">
      <TextAreaField
        label="Payload"
        hint="JSON. Placeholders in double braces are filled in at each firing. | default: sets the value if one is missing."
        error={faultText(form, "payload_template")}
        ref={area}
        name="payload_template"
        rows={8}
        spellCheck={false}
        value={form.fields.payload_template}
        onText={(text) => form.set("payload_template", text)}
        className="font-mono"
      />
      <fieldset aria-label="Insert a placeholder" className="flex flex-wrap gap-1.5">
        {PLACEHOLDERS[kind].map((path) => (
          <Button key={path} size="sm" className="font-mono font-normal" onClick={() => insert(`{{${path}}}`)}>
            {path}
          </Button>
        ))}
        {fields.some(({ kind: field }) => field === "provider") ? <FolderButtons onInsert={insert} /> : null}
      </fieldset>
      {fields.length > 0 ? <Fields fields={fields} form={form} /> : null}
    </div>
  );
}

/** The tenant's folders as buttons that insert their ids. */
function FolderButtons({ onInsert }: { readonly onInsert: (text: string) => void }) {
  const { slug } = useTenant();
  const folders = useQuery(providersOptions(slug)).data?.data ?? [];
  return folders.slice(0, 10).map((folder) => (
    <Button key={folder.id} size="sm" title={folder.id} onClick={() => onInsert(folder.id)}>
      Folder {folder.name}
    </Button>
  ));
}

function Fields({ form, fields }: { readonly form: TriggerForm; readonly fields: readonly SchemaField[] }) {
  const skeleton = Object.fromEntries(fields.filter((field) => field.required).map(({ name }) => [name, ""]));
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-muted text-xs">
      <span>
        Fields:{" "}
        {fields.map(({ name, required }, index) => (
          <span key={name}>
            {index > 0 ? ", " : ""}
            <code className="font-mono">{name}</code>
            {required ? " (required)" : ""}
          </span>
        ))}
      </span>
      {form.fields.payload_template.trim() === "{}" && Object.keys(skeleton).length > 0 ? (
        <Button size="sm" onClick={() => form.set("payload_template", JSON.stringify(skeleton, null, 2))}>
          Begin with them
        </Button>
      ) : null}
    </p>
  );
}
