"use client";

import { Field } from "@/components/ui/field";
import { FoldMark } from "@/components/ui/fold-mark";
import { LIMITS } from "@/lib/contract/limits";
import type { OptionName } from "./use-new-job";

interface OptionsProps {
  readonly options: Readonly<Record<OptionName, string>>;
  readonly faults: ReadonlyMap<string, string>;
  readonly onChange: (name: OptionName, value: string) => void;
}

/** The options of a job beside its payload. Collapsed, because they are rarely needed. */
export function NewJobOptions({ options, faults, onChange }: OptionsProps) {
  const hasFault = ["priority", "scheduled_for", "dedupe_key"].some((name) => faults.has(name));
  return (
    <details className="rounded-md border border-line" open={hasFault || undefined}>
      <summary className="flex min-h-9 items-center gap-1.5 px-3 font-medium text-sm">
        <FoldMark />
        Options
      </summary>
      <div className="grid gap-4 border-line border-t p-3 sm:grid-cols-2">
        <Field
          label="Priority"
          hint={`1 is the highest, ${LIMITS.priorityMax} the lowest. Default: 100`}
          error={faults.get("priority")}
        >
          {(control) => (
            <input
              {...control}
              name="priority"
              inputMode="numeric"
              value={options.priority}
              onChange={(event) => onChange("priority", event.target.value)}
              className="field"
            />
          )}
        </Field>
        <Field label="Not before" hint="In this browser's time zone" error={faults.get("scheduled_for")}>
          {(control) => (
            <input
              {...control}
              name="scheduled_for"
              type="datetime-local"
              value={options.scheduled_for}
              onChange={(event) => onChange("scheduled_for", event.target.value)}
              className="field"
            />
          )}
        </Field>
        <Field
          label="Dedupe key"
          hint="No second job with this key is created while one is live"
          error={faults.get("dedupe_key")}
        >
          {(control) => (
            <input
              {...control}
              name="dedupe_key"
              maxLength={LIMITS.dedupeKeyLength}
              autoComplete="off"
              value={options.dedupe_key}
              onChange={(event) => onChange("dedupe_key", event.target.value)}
              className="field"
            />
          )}
        </Field>
      </div>
    </details>
  );
}

interface OtherFaultsProps {
  readonly faults: ReadonlyMap<string, string>;
  readonly known: readonly string[];
  readonly freeform: boolean;
  readonly general: string | null;
}

/** Problems that no visible field can show. */
export function OtherJobFaults({ faults, known, freeform, general }: OtherFaultsProps) {
  const shown = new Set([
    ...known,
    "definition_key",
    "priority",
    "scheduled_for",
    "dedupe_key",
    ...(freeform ? ["payload"] : []),
  ]);
  const others = [...faults]
    .filter(([name]) => !shown.has(name))
    .map(([name, fault]) => `${name || "request"}: ${fault}`);
  const lines = general ? [general, ...others] : others;
  return (
    <div role="alert" className="text-bad text-sm empty:hidden">
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
    </div>
  );
}
