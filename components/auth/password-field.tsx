"use client";

import type { ComponentProps } from "react";
import { Field } from "@/components/ui/forms/field";

interface PasswordFieldProps
  extends Pick<ComponentProps<"input">, "name" | "autoComplete" | "minLength" | "maxLength"> {
  readonly label: string;
  readonly hint?: string;
  readonly error?: string | null;
  readonly ref?: ComponentProps<"input">["ref"];
}

/** A labelled password that must be filled in. */
export function PasswordField({ label, hint, error, ...input }: PasswordFieldProps) {
  return (
    <Field label={label} required hint={hint} error={error}>
      {(control) => <input {...control} {...input} type="password" required className="field" />}
    </Field>
  );
}
