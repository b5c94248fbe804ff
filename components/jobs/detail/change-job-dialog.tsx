"use client";

import { type FormEvent, useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog, DialogActions, DialogBody } from "@/components/ui/dialog";
import { Field } from "@/components/ui/field";
import { useToast } from "@/components/ui/toast";
import { faultsOf } from "@/lib/client/forms/faults";
import { instantOf, localInput } from "@/lib/client/forms/local-input";
import { useChangeJob } from "@/lib/client/jobs/jobs";
import type { ChangeJob, Job } from "@/lib/contract";
import { useTenant } from "../../shell/viewer";

/** Changes the priority or time of a waiting job. */
export function ChangeJobDialog({ job, onClose }: { readonly job: Job; readonly onClose: () => void }) {
  const { slug } = useTenant();
  const toast = useToast();
  const mutation = useChangeJob(slug);
  const [priority, setPriority] = useState(String(job.priority));
  const [time, setTime] = useState(localInput(job.scheduled_for));
  const [faults, setFaults] = useState<ReadonlyMap<string, string>>(new Map());
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const { change, faults: found } = changeOf(job, { priority, time });
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
  return (
    <Dialog title="Change this job" description="It applies to later runs too." open onClose={onClose}>
      <form onSubmit={submit} noValidate className="contents">
        <DialogBody className="flex flex-col gap-4">
          <Field
            label="Priority"
            hint="1 is the highest priority, 1000 the lowest. The job keeps its waiting time."
            error={faults.get("priority")}
          >
            {(control) => (
              <input
                {...control}
                name="priority"
                inputMode="numeric"
                value={priority}
                onChange={(event) => setPriority(event.target.value)}
                className="field"
              />
            )}
          </Field>
          <Field
            label="Not before"
            hint="A past time makes the job due at once."
            error={faults.get("scheduled_for")}
          >
            {(control) => (
              <input
                {...control}
                name="scheduled_for"
                type="datetime-local"
                step={1}
                value={time}
                onChange={(event) => setTime(event.target.value)}
                className="field"
              />
            )}
          </Field>
          {faults.has("") ? (
            <p role="alert" className="text-bad text-sm">
              {faults.get("")}
            </p>
          ) : null}
        </DialogBody>
        <DialogActions>
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" variant="primary" busy={mutation.isPending}>
            Change job
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
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
