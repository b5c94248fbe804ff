"use client";

import type { ComponentProps } from "react";
import { cn } from "../cn";

interface SelectProps extends Omit<ComponentProps<"select">, "onChange" | "children"> {
  /** Pairs of a value and its text, in order. */
  readonly options: Iterable<readonly [value: string, text: string]>;
  readonly onChoose: (value: string) => void;
}

/**
 * A choice of one value. The control is the browser's own: phones show it as a list of their own, and typing finds an
 * option.
 */
export function Select({ options, onChoose, className, ...rest }: SelectProps) {
  return (
    <select {...rest} onChange={(event) => onChoose(event.target.value)} className={cn("field", className)}>
      {[...options].map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** A select that filters a list; as wide as its longest option. `any` is the text for no filter. */
export function FilterSelect({ any, options, className, ...rest }: SelectProps & { readonly any: string }) {
  return <Select {...rest} options={[["", any], ...options]} className={cn("w-auto border-line", className)} />;
}

/** Returns the options for values that are their own texts. */
export const sameText = (values: Iterable<string>): [string, string][] => [...values].map((value) => [value, value]);
