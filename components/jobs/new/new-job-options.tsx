"use client";

import { FoldMark } from "@/components/ui/fold-mark";
import type { FormFaults } from "@/components/ui/forms/form-faults";
import { InputField } from "@/components/ui/forms/input-field";
import { LIMITS } from "@/lib/contract/limits";
import { OPTION_NAMES, type OptionName } from "./use-new-job";

interface OptionsProps {
  readonly options: Readonly<Record<OptionName, string>>;
  readonly faults: FormFaults;
  readonly onChange: (name: OptionName, value: string) => void;
}

/** The options of a job beside its payload. Collapsed, because they are rarely needed. */
export function NewJobOptions({ options, faults, onChange }: OptionsProps) {
  const hasFault = OPTION_NAMES.some((name) => faults.has(name));
  return (
    <details className="rounded-md border border-line" open={hasFault || undefined}>
      <summary className="flex min-h-9 items-center gap-1.5 px-3 font-medium text-sm">
        <FoldMark />
        Options
      </summary>
      <div className="grid gap-4 border-line border-t p-3 sm:grid-cols-2">
        <InputField
          label="Priority"
          hint={`1 is the highest, ${LIMITS.priorityMax} the lowest. Default: 100`}
          error={faults.get("priority")}
          name="priority"
          inputMode="numeric"
          value={options.priority}
          onText={(text) => onChange("priority", text)}
        />
        <InputField
          label="Not before"
          hint="In this browser's time zone"
          error={faults.get("scheduled_for")}
          name="scheduled_for"
          type="datetime-local"
          value={options.scheduled_for}
          onText={(text) => onChange("scheduled_for", text)}
        />
        <InputField
          label="Dedupe key"
          hint="No second job with this key is created while one is live"
          error={faults.get("dedupe_key")}
          name="dedupe_key"
          maxLength={LIMITS.dedupeKeyLength}
          autoComplete="off"
          value={options.dedupe_key}
          onText={(text) => onChange("dedupe_key", text)}
        />
      </div>
    </details>
  );
}
