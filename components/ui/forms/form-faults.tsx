"use client";

import { useEffect, useRef } from "react";

/** The problems of a form by field. Problems that belong to no field are under "". */
export type FormFaults = ReadonlyMap<string, string>;

export const NO_FAULTS_YET: FormFaults = new Map();

/** Returns the faults without those of a field, for when its value changes. */
export function withoutFault(faults: FormFaults, name: string): FormFaults {
  return faults.has(name) ? new Map([...faults].filter(([other]) => other !== name)) : faults;
}

/** Problems that no field of a form shows, announced when they appear. */
export function FaultLines({ lines }: { readonly lines: readonly string[] }) {
  return (
    <div role="alert" className="break-words text-bad text-sm empty:hidden">
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
    </div>
  );
}

/**
 * Moves the focus to the first invalid field of a form once a submit was refused. Put `ref` on the form, and call
 * `onSubmitted` with each submit: faults that change later, while the user types, leave the focus where it is.
 */
export function useFocusOnFault(faults: ReadonlyMap<string, unknown>) {
  const ref = useRef<HTMLFormElement>(null);
  const submitted = useRef(false);
  useEffect(() => {
    if (!submitted.current || faults.size === 0) return;
    submitted.current = false;
    ref.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [faults]);
  const onSubmitted = () => {
    submitted.current = true;
  };
  return { ref, onSubmitted };
}
