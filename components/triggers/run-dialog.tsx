"use client";

import { useRouter } from "next/navigation";
import { type FormEvent, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog, DialogActions, DialogBody } from "@/components/ui/dialog";
import { Field } from "@/components/ui/field";
import { useToast } from "@/components/ui/toast";
import { randomKey } from "@/lib/client/forms/random-key";
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
  return (
    <Dialog
      wide
      title={`Run ${trigger.label} now`}
      description={`Starts one ${trigger.definition_key} job at once. The schedule stays as it is.`}
      open
      onClose={onClose}
    >
      <RunForm trigger={trigger} onClose={onClose} />
    </Dialog>
  );
}

function RunForm({ trigger, onClose }: { readonly trigger: Trigger; readonly onClose: () => void }) {
  const { slug } = useTenant();
  const router = useRouter();
  const toast = useToast();
  const run = useRunTrigger(slug);
  const isEvent = trigger.trigger_type === "event";
  const [way, setWay] = useState<Way>(isEvent ? "event" : "template");
  const [texts, setTexts] = useState({ event: "{}", payload: JSON.stringify(trigger.payload_template, null, 2) });
  const [fault, setFault] = useState<string | null>(null);
  const intent = useRef({ body: "", key: "" });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (run.isPending) return;
    const { body, fault: wrong } = bodyOf(way, texts);
    setFault(wrong ?? null);
    if (!body) return;
    const text = JSON.stringify(body);
    if (intent.current.body !== text) intent.current = { body: text, key: randomKey() };
    run.mutate(
      { id: trigger.id, body, key: intent.current.key },
      {
        onSuccess: ({ job }) => {
          onClose();
          toast({ title: "Started" });
          router.push(`/t/${slug}/jobs/${job.id}`);
        },
        onError: (error) => {
          intent.current = { body: "", key: "" };
          setFault(explain(error));
        },
      },
    );
  };
  const ways = (Object.keys(WAYS) as Way[]).filter((one) => isEvent || one !== "event");
  return (
    <form onSubmit={submit} noValidate className="contents">
      <DialogBody className="flex flex-col gap-4">
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
          <Field label={way === "event" ? "Event data" : "Payload"} hint="JSON">
            {(control) => (
              <textarea
                {...control}
                rows={9}
                spellCheck={false}
                value={texts[way]}
                onChange={(event) => setTexts((now) => ({ ...now, [way]: event.target.value }))}
                className="field font-mono"
              />
            )}
          </Field>
        )}
        <p role="alert" className="break-words text-bad text-sm empty:hidden">
          {fault}
        </p>
      </DialogBody>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        <Button type="submit" variant="primary" busy={run.isPending}>
          Run now
        </Button>
      </DialogActions>
    </form>
  );
}

function bodyOf(way: Way, texts: Readonly<Record<"event" | "payload", string>>): { body?: RunTrigger; fault?: string } {
  if (way === "template") return { body: {} };
  const { value, fault } = parseJsonText(texts[way]);
  return fault ? { fault } : { body: { [way]: value } };
}

function explain(error: Error): string {
  if (!(error instanceof ApiError)) return error.message;
  const places = error.errors.map(({ pointer, detail }) => `${pointer || "payload"} ${detail}`);
  return places.length > 0 ? places.join("; ") : error.detail || error.title;
}
