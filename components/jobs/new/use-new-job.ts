"use client";

import { useRef, useState } from "react";
import { randomKey } from "@/lib/client/forms/random-key";
import { ApiError } from "@/lib/client/http";
import { useCreateJob } from "@/lib/client/jobs/jobs";
import { gatherPayload, parseJsonText, pointerHead, schemaForm } from "@/lib/client/triggers/schema-form";
import type { CreateJob, Definition, Job } from "@/lib/contract";

/** Names of the fields beside the payload, as in the API. */
export type OptionName = "priority" | "scheduled_for" | "dedupe_key";

interface NewJobState {
  readonly values: Readonly<Record<string, string>>;
  readonly freeText: string;
  readonly options: Readonly<Record<OptionName, string>>;
  readonly faults: ReadonlyMap<string, string>;
  /** A problem that belongs to no field. */
  readonly general: string | null;
}

const BLANK: NewJobState = {
  values: {},
  freeText: "{}",
  options: { priority: "", scheduled_for: "", dedupe_key: "" },
  faults: new Map(),
  general: null,
};

/**
 * The state of a job that is being composed. The idempotency key stands for one intent: however often it is sent, one
 * job is created. The key changes only when the content changes.
 */
export function useNewJob(tenant: string, definition: Definition | undefined, onCreated: (job: Job) => void) {
  const [state, setState] = useState(BLANK);
  const create = useCreateJob(tenant);
  const intent = useRef({ body: "", key: "" });
  // The second click of a double click arrives before the first one has been rendered.
  const sending = useRef(false);
  const form = schemaForm(definition?.arg_schema ?? {});
  const fail = (faults: ReadonlyMap<string, string>, general: string | null) =>
    setState((now) => ({ ...now, faults, general }));

  const submit = () => {
    if (!definition || sending.current) return;
    const { body, faults } = bodyOf(definition.key, form, state);
    if (!body) return fail(faults, null);
    const text = JSON.stringify(body);
    if (intent.current.body !== text) intent.current = { body: text, key: randomKey() };
    sending.current = true;
    create.mutate(
      { body, key: intent.current.key },
      {
        onSettled: () => {
          sending.current = false;
        },
        onSuccess: onCreated,
        onError: (error) => {
          const told = explain(error);
          // A refusal is final for this key; only a request without an answer is repeated under it.
          if (error instanceof ApiError && error.status >= 400 && error.status < 500)
            intent.current = { body: "", key: "" };
          fail(told.faults, told.general);
        },
      },
    );
  };
  return { state, setState, form, submit, pending: create.isPending };
}

function bodyOf(key: string, form: ReturnType<typeof schemaForm>, state: NewJobState) {
  const faults = new Map<string, string>();
  const payload = form.freeform ? freePayload(state.freeText, faults) : gatherPayload(form.fields, state.values);
  if ("faults" in payload) for (const [name, fault] of payload.faults) faults.set(`payload.${name}`, fault);
  const options = readOptions(state.options, faults);
  if (faults.size > 0) return { body: null, faults };
  return { body: { definition_key: key, payload: payload.payload, ...options } satisfies CreateJob, faults };
}

function freePayload(text: string, faults: Map<string, string>): { payload: unknown } {
  const { value, fault } = parseJsonText(text);
  if (fault) faults.set("payload", fault);
  return { payload: value };
}

function readOptions(options: NewJobState["options"], faults: Map<string, string>) {
  const priority = options.priority.trim() === "" ? undefined : Number(options.priority);
  const scheduled = options.scheduled_for === "" ? undefined : new Date(options.scheduled_for);
  if (priority !== undefined && !Number.isInteger(priority)) faults.set("priority", "This must be a whole number.");
  if (scheduled && Number.isNaN(scheduled.getTime())) faults.set("scheduled_for", "This must be a date and a time.");
  if (faults.size > 0) return {};
  return {
    ...(priority === undefined ? {} : { priority }),
    ...(scheduled === undefined ? {} : { scheduled_for: scheduled.toISOString() }),
    ...(options.dedupe_key === "" ? {} : { dedupe_key: options.dedupe_key }),
  };
}

function explain(error: Error): { faults: Map<string, string>; general: string | null } {
  const faults = new Map<string, string>();
  if (!(error instanceof ApiError)) return { faults, general: error.message };
  for (const { pointer, detail } of error.errors) faults.set(fieldOfPointer(pointer), detail);
  if (faults.size > 0) return { faults, general: null };
  const request = error.requestId ? ` (request ${error.requestId})` : "";
  return { faults, general: `${error.detail || error.title}${request}` };
}

/** Returns the field that a pointer into the body refers to: `/payload/path/0` is the payload's field `path`. */
function fieldOfPointer(pointer: string): string {
  const head = pointerHead(pointer);
  if (head !== "payload") return head;
  const inner = pointerHead(pointer.slice("/payload".length));
  return inner === "" ? "payload" : `payload.${inner}`;
}
