"use client";

import { useRouter } from "next/navigation";
import { type FormEvent, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog, DialogActions, DialogBody } from "@/components/ui/dialog";
import { Field } from "@/components/ui/field";
import { useToast } from "@/components/ui/toast";
import { randomKey } from "@/lib/client/forms/random-key";
import { ApiError } from "@/lib/client/http";
import { useEditAndRetry } from "@/lib/client/jobs/jobs";
import { parseJsonText } from "@/lib/client/triggers/schema-form";
import type { Job } from "@/lib/contract";
import { useTenant } from "../../shell/viewer";

/** Creates a new job like this one, with another payload. One intent creates one job, however often it is sent. */
export function EditRetryDialog({ job, onClose }: { readonly job: Job; readonly onClose: () => void }) {
  const { slug } = useTenant();
  const router = useRouter();
  const toast = useToast();
  const mutation = useEditAndRetry(slug);
  const [text, setText] = useState(() => JSON.stringify(job.payload, null, 2));
  const [fault, setFault] = useState<string | null>(null);
  const intent = useRef({ text: "", key: "" });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (mutation.isPending) return;
    const { value, fault: wrong } = parseJsonText(text);
    setFault(wrong ?? null);
    if (wrong) return;
    if (intent.current.text !== text) intent.current = { text, key: randomKey() };
    mutation.mutate(
      { id: job.id, payload: value, key: intent.current.key },
      {
        onSuccess: (made) => {
          onClose();
          toast({ title: "Queued as a new job" });
          router.push(`/t/${slug}/jobs/${made.id}`);
        },
        onError: (error) => setFault(textOf(error)),
      },
    );
  };
  return (
    <Dialog
      wide
      title="Edit and retry"
      description="Creates a new job with this payload, linked to this job."
      open
      onClose={onClose}
    >
      <form onSubmit={submit} noValidate className="contents">
        <DialogBody>
          <Field label="Payload" hint="JSON" error={fault}>
            {(control) => (
              <textarea
                {...control}
                name="payload"
                rows={12}
                spellCheck={false}
                value={text}
                onChange={(event) => setText(event.target.value)}
                className="field font-mono"
              />
            )}
          </Field>
        </DialogBody>
        <DialogActions>
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" variant="primary" busy={mutation.isPending}>
            Enqueue new job
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function textOf(error: Error): string {
  if (!(error instanceof ApiError)) return error.message;
  const places = error.errors.map(({ pointer, detail }) => `${pointer || "payload"}: ${detail}`);
  return places.length > 0 ? places.join("; ") : error.detail || error.title;
}
