"use client";

import { useState } from "react";
import { FormDialog } from "@/components/ui/forms/form-dialog";
import type { FormFaults } from "@/components/ui/forms/form-faults";
import { InputField } from "@/components/ui/forms/input-field";
import { useToast } from "@/components/ui/toast";
import { faultsOf } from "@/lib/client/forms/faults";
import { instantOf, localInput } from "@/lib/client/forms/local-input";
import { useChangeJob } from "@/lib/client/jobs/jobs";
import type { ChangeJob, Job } from "@/lib/contract";
import { useTenant } from "../../shell/viewer";

const FIELDS = ["priority", "scheduled_for"];

interface ChangeJobDialogProps {
  readonly job: Job;
  readonly onClose: () => void;
}

/** Changes the priority or time of a waiting job. */
export function ChangeJobDialog({ job, onClose }: ChangeJobDialogProps) {
  const { fields, set, faults, submit, pending } = useJobChange({ job, onClose });
  return (
    <FormDialog
      title="Change this job"
      description="It applies to later runs too."
      submit="Change job"
      faults={faults}
      fields={FIELDS}
      busy={pending}
      onSubmit={submit}
      onClose={onClose}
    >
      <InputField
        label="Priority"
        hint="1 is the highest priority, 1000 the lowest. The job keeps its waiting time."
        error={faults.get("priority")}
        name="priority"
        inputMode="numeric"
        value={fields.priority}
        onText={set("priority")}
      />
      <InputField
        label="Not before"
        hint="A past time makes the job due at once."
        error={faults.get("scheduled_for")}
        name="scheduled_for"
        type="datetime-local"
        step={1}
        value={fields.time}
        onText={set("time")}
      />
    </FormDialog>
  );
}

function useJobChange({ job, onClose }: ChangeJobDialogProps) {
  const { slug } = useTenant();
  const toast = useToast();
  const mutation = useChangeJob(slug);
  const [fields, setFields] = useState({ priority: String(job.priority), time: localInput(job.scheduled_for) });
  const [faults, setFaults] = useState<FormFaults>(new Map());
  const set = (name: keyof typeof fields) => (text: string) => setFields((now) => ({ ...now, [name]: text }));
  const submit = () => {
    const { change, faults: found } = changeOf(job, fields);
    setFaults(found);
    if (!change) return;
    if (Object.keys(change).length === 0) return onClose();
    mutation.mutate(
      { id: job.id, change },
      {
        onSuccess: () => {
          toast({ title: "Changed" });
          onClose();
        },
        onError: (error) => setFaults(faultsOf(error)),
      },
    );
  };
  return { fields, set, faults, submit, pending: mutation.isPending };
}

// Sends only changed fields. Otherwise the time, shown to the second, would move a job that the user did not move.
function changeOf(job: Job, { priority, time }: { priority: string; time: string }) {
  const faults = new Map<string, string>();
  const change: ChangeJob = {};
  if (priority.trim() !== String(job.priority)) {
    const value = Number(priority);
    if (priority.trim() === "" || !Number.isInteger(value)) faults.set("priority", "This must be a whole number.");
    else change.priority = value;
  }
  if (time !== localInput(job.scheduled_for)) {
    const instant = instantOf(time);
    if (instant) change.scheduled_for = instant;
    else faults.set("scheduled_for", "This must be a date and a time.");
  }
  return { change: faults.size === 0 ? change : null, faults };
}
