"use client";

import { useQuery } from "@tanstack/react-query";
import { Field, type FieldControl } from "@/components/ui/forms/field";
import { Select } from "@/components/ui/forms/select";
import { providersOptions } from "@/lib/client/assets";
import type { SchemaField } from "@/lib/client/triggers/schema-form";
import { useTenant } from "../../shell/viewer";

interface PayloadFieldsProps {
  readonly fields: readonly SchemaField[];
  readonly values: Readonly<Record<string, string>>;
  readonly faults: ReadonlyMap<string, string>;
  readonly onChange: (name: string, value: string) => void;
}

/** The controls of a payload, one per property of the definition's schema. */
export function PayloadFields({ fields, values, faults, onChange }: PayloadFieldsProps) {
  return fields.map((field) => (
    <Field
      key={field.name}
      label={field.label}
      hint={field.hint || undefined}
      error={faults.get(field.name)}
      required={field.required}
    >
      {(control) => (
        <Control
          field={field}
          control={control}
          value={Object.hasOwn(values, field.name) ? (values[field.name] ?? "") : field.initial}
          onChange={(value) => onChange(field.name, value)}
        />
      )}
    </Field>
  ));
}

interface ControlProps {
  readonly field: SchemaField;
  readonly control: FieldControl;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Control({ field, control, value, onChange }: ControlProps) {
  const shared = { ...control, name: `payload.${field.name}`, value, className: "field" };
  const onText = (event: { target: { value: string } }) => onChange(event.target.value);
  if (field.kind === "provider") return <ProviderControl control={control} value={value} onChange={onChange} />;
  if (field.kind === "choice" || field.kind === "boolean") {
    const choices = field.kind === "boolean" ? ["true", "false"] : field.choices;
    return (
      <Select
        {...shared}
        options={[
          ["", field.required ? "Choose…" : "Not set"],
          ...choices.map((choice): [string, string] => [choice, choice.replace(/^"(.*)"$/u, "$1")]),
        ]}
        onChoose={onChange}
      />
    );
  }
  if (field.kind === "json") {
    return <textarea {...shared} onChange={onText} rows={4} spellCheck={false} className="field font-mono" />;
  }
  const isNumber = field.kind === "integer" || field.kind === "number";
  return (
    <input
      {...shared}
      onChange={onText}
      type={field.kind === "instant" ? "datetime-local" : "text"}
      inputMode={isNumber ? "decimal" : undefined}
      maxLength={field.maxLength}
      autoComplete="off"
    />
  );
}

/** Selects a folder of the tenant by name, or by id if the names cannot be loaded. */
function ProviderControl({ control, value, onChange }: Omit<ControlProps, "field">) {
  const tenant = useTenant();
  const providers = useQuery(providersOptions(tenant.slug));
  const known = providers.data?.data ?? [];
  if (providers.isError) {
    return (
      <input
        {...control}
        name="payload.provider_id"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        placeholder="Provider id (UUID)"
        autoComplete="off"
        className="field"
      />
    );
  }
  const none = providers.isSuccess && known.length === 0;
  return (
    <Select
      {...control}
      name="payload.provider_id"
      options={[
        ["", providers.isPending ? "Loading…" : none ? "No folder is registered" : "Choose a folder…"],
        ...known.map(({ id, name }): [string, string] => [id, name]),
      ]}
      value={value}
      onChoose={onChange}
    />
  );
}
