"use client";

import { useRouter } from "next/navigation";
import { useState } from "react";
import { FormDialog } from "@/components/ui/forms/form-dialog";
import type { FormFaults } from "@/components/ui/forms/form-faults";
import { TextAreaField } from "@/components/ui/forms/input-field";
import { useToast } from "@/components/ui/toast";
import { useIntentKey } from "@/lib/client/forms/use-intent-key";
import { ApiError } from "@/lib/client/http";
import { parseJsonText } from "@/lib/client/triggers/schema-form";
import { useRunTrigger } from "@/lib/client/triggers/triggers";
import type { RunTrigger, Trigger } from "@/lib/contract";
import { useTenant } from "../shell/viewer";

type Way = "template" | "event" | "payload";

const WAYS: Readonly<Record<Way, string>> = {
  template: "With its template",
  event: "With its template, and this as the event's data",
  payload: "With this payload instead",
};

/** Runs a trigger's job at once, even if the trigger is disabled or not due. */
export function RunDialog({ trigger, onClose }: { readonly trigger: Trigger; readonly onClose: () => void }) {
  const { way, setWay, texts, setTexts, faults, submit, pending } = useRun(trigger, onClose);
  const ways = (Object.keys(WAYS) as Way[]).filter((one) => trigger.trigger_type === "event" || one !== "event");
  return (
    <FormDialog
      wide
      title={`Run ${trigger.label} now`}
      description={`Starts one ${trigger.definition_key} job at once. The schedule stays as it is.`}
      submit="Run now"
      faults={faults}
      busy={pending}
      onSubmit={submit}
      onClose={onClose}
    >
      <fieldset className="flex flex-col gap-1">
        <legend className="sr-only">How</legend>
        {ways.map((one) => (
          <label key={one} className="flex min-h-7 items-center gap-2 text-sm">
            <input
              type="radio"
              name="way"
              checked={way === one}
              onChange={() => setWay(one)}
              className="size-4 accent-accent"
            />
            {WAYS[one]}
          </label>
        ))}
      </fieldset>
      {way === "template" ? null : (
        <TextAreaField
          label={way === "event" ? "Event data" : "Payload"}
          hint="JSON"
          rows={9}
          spellCheck={false}
          value={texts[way]}
          onText={(text) => setTexts((now) => ({ ...now, [way]: text }))}
          className="font-mono"
        />
      )}
    </FormDialog>
  );
}

/** The state of a run that is being composed. The same content is sent under the same idempotency key. */
function useRun(trigger: Trigger, onClose: () => void) {
  const { slug } = useTenant();
  const router = useRouter();
  const toast = useToast();
  const run = useRunTrigger(slug);
  const [way, setWay] = useState<Way>(trigger.trigger_type === "event" ? "event" : "template");
  const [texts, setTexts] = useState({ event: "{}", payload: JSON.stringify(trigger.payload_template, null, 2) });
  const [faults, setFaults] = useState<FormFaults>(new Map());
  const { keyFor, forgetRefused } = useIntentKey();
  const submit = () => {
    if (run.isPending) return;
    const { body, fault } = bodyOf(way, texts);
    setFaults(fault ? new Map([["", fault]]) : new Map());
    if (!body) return;
    run.mutate(
      { id: trigger.id, body, key: keyFor(body) },
      {
        onSuccess: ({ job }) => {
          onClose();
          toast({ title: "Started" });
          router.push(`/t/${slug}/jobs/${job.id}`);
        },
        onError: (error) => {
          forgetRefused(error);
          setFaults(new Map([["", explain(error)]]));
        },
      },
    );
  };
  return { way, setWay, texts, setTexts, faults, submit, pending: run.isPending };
}

function bodyOf(way: Way, texts: Readonly<Record<"event" | "payload", string>>): { body?: RunTrigger; fault?: string } {
  if (way === "template") return { body: {} };
  const { value, fault } = parseJsonText(texts[way]);
  return fault ? { fault } : { body: { [way]: value } };
}

function explain(error: Error): string {
  if (!(error instanceof ApiError)) return error.message;
  const details = error.errors.map(({ pointer, detail }) => `${pointer || "payload"} ${detail}`);
  return details.length > 0 ? details.join("; ") : error.detail || error.title;
}
