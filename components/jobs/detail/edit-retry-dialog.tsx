"use client";

import { useRouter } from "next/navigation";
import { useState } from "react";
import { FormDialog } from "@/components/ui/forms/form-dialog";
import type { FormFaults } from "@/components/ui/forms/form-faults";
import { TextAreaField } from "@/components/ui/forms/input-field";
import { useToast } from "@/components/ui/toast";
import { useIntentKey } from "@/lib/client/forms/use-intent-key";
import { ApiError } from "@/lib/client/http";
import { useEditAndRetry } from "@/lib/client/jobs/jobs";
import { parseJsonText } from "@/lib/client/triggers/schema-form";
import type { Job } from "@/lib/contract";
import { useTenant } from "../../shell/viewer";

const FIELDS = ["payload"];

/** Creates a new job like this one, with another payload. One intent creates one job, however often it is sent. */
export function EditRetryDialog({ job, onClose }: { readonly job: Job; readonly onClose: () => void }) {
  const { slug } = useTenant();
  const router = useRouter();
  const toast = useToast();
  const mutation = useEditAndRetry(slug);
  const [text, setText] = useState(() => JSON.stringify(job.payload, null, 2));
  const [faults, setFaults] = useState<FormFaults>(new Map());
  const { keyFor } = useIntentKey();
  const submit = () => {
    if (mutation.isPending) return;
    const { value, fault } = parseJsonText(text);
    setFaults(fault ? new Map([["payload", fault]]) : new Map());
    if (fault) return;
    mutation.mutate(
      { id: job.id, payload: value, key: keyFor(text) },
      {
        onSuccess: (made) => {
          onClose();
          toast({ title: "Queued as a new job" });
          router.push(`/t/${slug}/jobs/${made.id}`);
        },
        onError: (error) => setFaults(new Map([["payload", textOf(error)]])),
      },
    );
  };
  return (
    <FormDialog
      wide
      title="Edit and retry"
      description="Creates a new job with this payload, linked to this job."
      submit="Enqueue new job"
      faults={faults}
      fields={FIELDS}
      busy={mutation.isPending}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextAreaField
        label="Payload"
        hint="JSON"
        error={faults.get("payload")}
        name="payload"
        rows={12}
        spellCheck={false}
        value={text}
        onText={setText}
        className="font-mono"
      />
    </FormDialog>
  );
}

function textOf(error: Error): string {
  if (!(error instanceof ApiError)) return error.message;
  const details = error.errors.map(({ pointer, detail }) => `${pointer || "payload"}: ${detail}`);
  return details.length > 0 ? details.join("; ") : error.detail || error.title;
}
