"use client";

import type { ComponentProps } from "react";
import { cn } from "../cn";
import { Field } from "./field";

type TextProps<Tag extends "input" | "textarea"> = Omit<ComponentProps<Tag>, "id" | "onChange" | "required"> & {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly error?: string | null | undefined;
  readonly required?: boolean;
  readonly onText: (text: string) => void;
};

/** A labelled input with its hint and its error. */
export function InputField({ label, hint, error, required, onText, className, ...input }: TextProps<"input">) {
  return (
    <Field label={label} hint={hint} error={error} required={required}>
      {(control) => (
        <input
          {...input}
          {...control}
          onChange={(event) => onText(event.target.value)}
          className={cn("field", className)}
        />
      )}
    </Field>
  );
}

/** A labelled input of several lines, with its hint and its error. */
export function TextAreaField({ label, hint, error, required, onText, className, ...area }: TextProps<"textarea">) {
  return (
    <Field label={label} hint={hint} error={error} required={required}>
      {(control) => (
        <textarea
          {...area}
          {...control}
          onChange={(event) => onText(event.target.value)}
          className={cn("field", className)}
        />
      )}
    </Field>
  );
}
