"use client";

import type { ReactNode } from "react";
import { Combobox } from "@/components/ui/forms/combobox";
import { Field } from "@/components/ui/forms/field";
import { InputField } from "@/components/ui/forms/input-field";
import { Select } from "@/components/ui/forms/select";
import type { FieldName } from "@/lib/client/triggers/trigger-form";
import type { TriggerForm } from "./use-trigger-form";

interface FormFieldProps {
  readonly form: TriggerForm;
  readonly name: FieldName;
  readonly label: string;
  readonly hint?: string;
  readonly required?: boolean;
}

/** Returns the problems of a field as one text. */
export function faultText(form: TriggerForm, name: FieldName): string | null {
  const faults = form.faults.get(name) ?? [];
  return faults.length === 0 ? null : faults.map(({ at, detail }) => (at ? `${at}: ${detail}` : detail)).join("; ");
}

interface TextFieldProps extends FormFieldProps {
  readonly type?: "text" | "datetime-local";
  readonly numeric?: boolean;
  readonly mono?: boolean;
  readonly suggestions?: readonly string[];
  readonly placeholder?: string;
}

export function TextField(props: TextFieldProps) {
  const { form, name, label, hint, required, type = "text", numeric, mono, suggestions, placeholder } = props;
  const input = {
    name,
    placeholder,
    spellCheck: false,
    value: form.fields[name],
    onText: (text: string) => form.set(name, text),
    className: mono ? "font-mono" : undefined,
  };
  if (suggestions) {
    return (
      <Field label={label} hint={hint} required={required} error={faultText(form, name)}>
        {(control) => (
          <Combobox {...control} {...input} suggestions={suggestions.map((suggestion) => ({ value: suggestion }))} />
        )}
      </Field>
    );
  }
  return (
    <InputField
      label={label}
      hint={hint}
      required={required}
      error={faultText(form, name)}
      type={type}
      step={type === "text" ? undefined : 1}
      inputMode={numeric ? "numeric" : undefined}
      autoComplete="off"
      {...input}
    />
  );
}

interface SelectFieldProps extends FormFieldProps {
  readonly options: Readonly<Record<string, string>>;
}

export function SelectField({ form, name, label, hint, required, options }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} required={required} error={faultText(form, name)}>
      {(control) => (
        <Select
          {...control}
          name={name}
          options={Object.entries(options)}
          value={form.fields[name]}
          onChoose={(value) => form.set(name, value)}
        />
      )}
    </Field>
  );
}

interface ChoiceProps extends FormFieldProps {
  readonly options: Readonly<Record<string, string>>;
  readonly disabled?: boolean;
}

/** A few choices side by side, all visible. */
export function ChoiceField({ form, name, label, options, disabled }: ChoiceProps) {
  return (
    <fieldset disabled={disabled} className="flex flex-col gap-1">
      <legend className="mb-1 font-medium text-sm">{label}</legend>
      <div className="flex flex-wrap gap-2">
        {Object.entries(options).map(([value, words]) => (
          <label
            key={value}
            className="flex min-h-9 items-center gap-2 rounded-md border border-line px-3 text-sm has-checked:border-accent has-checked:bg-accent-soft has-disabled:opacity-55"
          >
            <input
              type="radio"
              name={name}
              value={value}
              checked={form.fields[name] === value}
              onChange={() => form.set(name, value)}
              className="size-4 accent-accent"
            />
            {words}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** A section of the form with its own heading. */
export function FormSection({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section aria-label={title} className="panel flex min-w-0 flex-col gap-4 p-4">
      <h2 className="font-semibold text-base">{title}</h2>
      {children}
    </section>
  );
}
