"use client";

import { FoldMark } from "@/components/ui/fold-mark";
import { LIMITS } from "@/lib/contract/limits";
import { CATCH_UP_WORDS, OVERLAP_WORDS } from "../words";
import { SelectField, TextField } from "./form-fields";
import type { TriggerForm } from "./use-trigger-form";

const INSIDE = ["overlap_policy", "catch_up", "catch_up_limit", "jitter_seconds", "max_runs", "expires_at", "priority"];

/** Advanced settings. Collapsed, because the defaults suit most triggers. */
export function MoreSection({ form, queues }: { readonly form: TriggerForm; readonly queues: readonly string[] }) {
  const isEvent = form.fields.trigger_type === "event";
  const hasFault = [...INSIDE, "queue", "dedupe_key_template", "dedupe_window_seconds"].some((name) =>
    form.faults.has(name),
  );
  const queueNames = Object.fromEntries(["", ...queues].map((name) => [name, name || "The definition's"]));
  if (form.fields.queue !== "") queueNames[form.fields.queue] = form.fields.queue;
  return (
    <details className="panel" open={hasFault || undefined}>
      <summary className="flex min-h-11 items-center gap-1.5 px-4 font-semibold text-base">
        <FoldMark />
        More
      </summary>
      <div className="grid gap-4 border-line border-t p-4 sm:grid-cols-2">
        <SelectField form={form} name="overlap_policy" label="If its last job has not ended" options={OVERLAP_WORDS} />
        {isEvent ? <Dedupe form={form} /> : <Past form={form} />}
        <TextField form={form} name="max_runs" label="Runs at most" hint="Empty: no limit" numeric />
        <TextField
          form={form}
          name="expires_at"
          type="datetime-local"
          label="Not after"
          hint="In this browser's time zone"
        />
        <TextField
          form={form}
          name="priority"
          label="Priority"
          hint={`1 is the highest, ${LIMITS.priorityMax} the lowest. Default: 100`}
          numeric
        />
        <SelectField form={form} name="queue" label="Queue" options={queueNames} />
      </div>
    </details>
  );
}

function Past({ form }: { readonly form: TriggerForm }) {
  return (
    <>
      <SelectField form={form} name="catch_up" label="Missed runs" options={CATCH_UP_WORDS} />
      {form.fields.catch_up === "all" ? (
        <TextField form={form} name="catch_up_limit" label="Run at most" hint={`1 to ${LIMITS.catchUpMax}`} numeric />
      ) : null}
      <TextField
        form={form}
        name="jitter_seconds"
        label="Spread"
        hint="Delays each job by a random number of seconds, up to this many"
        numeric
      />
    </>
  );
}

function Dedupe({ form }: { readonly form: TriggerForm }) {
  return (
    <>
      <TextField
        form={form}
        name="dedupe_key_template"
        label="Dedupe key"
        hint="Events with the same key start one job within the window. Empty: the whole payload"
        placeholder="{{event.folder_id}}"
        mono
      />
      <TextField
        form={form}
        name="dedupe_window_seconds"
        label="Dedupe window"
        hint="Seconds; 0 starts a job for each event"
        numeric
      />
    </>
  );
}
