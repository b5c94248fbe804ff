"use client";

import { useState } from "react";
import { Field } from "@/components/ui/forms/field";
import { FormDialog } from "@/components/ui/forms/form-dialog";
import type { FormFaults } from "@/components/ui/forms/form-faults";
import { InputField } from "@/components/ui/forms/input-field";
import { Select } from "@/components/ui/forms/select";
import { faultsOf } from "@/lib/client/forms/faults";
import { setPause } from "@/lib/client/queues";
import type { CreatePause, Queue } from "@/lib/contract";
import { NameField } from "./name-field";
import { useCreation } from "./use-change";

export interface PauseStart {
  readonly scope: CreatePause["scope"];
  readonly name: string;
}

const SCOPES = { queue: "A queue", definition: "A definition", tenant: "A tenant", all: "Everything" } as const;
const NAMED = { queue: "queue", definition: "definition_key", tenant: "tenant" } as const;

interface PauseDialogProps {
  readonly start: PauseStart;
  /** Offered as names. */
  readonly queues: readonly Queue[];
  readonly onClose: () => void;
}

/** Asks what to pause, why, and until when. */
export function PauseDialog({ start, queues, onClose }: PauseDialogProps) {
  const [form, setForm] = useState({ scope: start.scope, name: start.name, reason: "", until: "" });
  const [faults, setFaults] = useState<FormFaults>(new Map());
  const pause = useCreation({
    body: () => bodyOf(form),
    post: setPause,
    done: "Paused",
    onDone: onClose,
    onRefused: (error) => setFaults(faultsOf(error)),
  });
  const set = (name: keyof typeof form) => (text: string) => setForm((now) => ({ ...now, [name]: text }));
  const named = form.scope === "all" ? null : NAMED[form.scope];
  return (
    <FormDialog
      title="Pause"
      description="No new jobs start. Running jobs continue, and jobs can still be enqueued."
      submit="Pause"
      faults={faults}
      fields={["reason", "until", ...(named ? [named] : [])]}
      busy={pause.isPending}
      onSubmit={() => pause.mutate(undefined)}
      onClose={onClose}
    >
      <Field label="What">
        {(control) => (
          <Select {...control} options={Object.entries(SCOPES)} value={form.scope} onChoose={set("scope")} />
        )}
      </Field>
      {named ? (
        <NameField target={named} queues={queues} error={faults.get(named)} value={form.name} onText={set("name")} />
      ) : null}
      <InputField
        label="Reason"
        required
        hint="Shown as the wait reason of each job"
        error={faults.get("reason")}
        maxLength={500}
        value={form.reason}
        onText={set("reason")}
      />
      <InputField
        label="Until"
        hint="Empty: until resumed. In this browser's time zone"
        error={faults.get("until")}
        type="datetime-local"
        value={form.until}
        onText={set("until")}
      />
    </FormDialog>
  );
}

interface PauseFields {
  readonly scope: CreatePause["scope"];
  readonly name: string;
  readonly reason: string;
  readonly until: string;
}

function bodyOf({ scope, name, reason, until }: PauseFields): CreatePause {
  const common = { reason, ...(until === "" ? {} : { until: new Date(until).toISOString() }) };
  if (scope === "all") return { scope, ...common };
  if (scope === "queue") return { scope, queue: name, ...common };
  return scope === "definition" ? { scope, definition_key: name, ...common } : { scope, tenant: name, ...common };
}
