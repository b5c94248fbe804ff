"use client";

import { Combobox } from "@/components/ui/forms/combobox";
import { Field } from "@/components/ui/forms/field";
import type { Queue } from "@/lib/contract";

interface NameFieldProps {
  /** The kind of thing that is named, as in the API. */
  readonly target: "queue" | "definition_key" | "tenant";
  readonly queues: readonly Queue[];
  readonly error: string | undefined;
  readonly value: string;
  readonly onText: (text: string) => void;
}

/** The name of what a pause or a limit is for. Suggests the queues; definitions and tenants are typed. */
export function NameField({ target, queues, error, value, onText }: NameFieldProps) {
  const known = target === "queue" ? queues.map(({ name, description }) => ({ value: name, about: description })) : [];
  return (
    <Field label="Name" required error={error}>
      {(control) => <Combobox {...control} suggestions={known} value={value} onText={onText} />}
    </Field>
  );
}
