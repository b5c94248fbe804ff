"use client";

import { useRef, useState } from "react";
import { type FormFaults, withoutFault } from "@/components/ui/forms/form-faults";
import { useIntentKey } from "@/lib/client/forms/use-intent-key";
import { ApiError } from "@/lib/client/http";
import { useCreateJob } from "@/lib/client/jobs/jobs";
import { gatherPayload, parseJsonText, pointerHead, schemaForm } from "@/lib/client/triggers/schema-form";
import type { CreateJob, Definition, Job } from "@/lib/contract";

/** Names of the fields beside the payload, as in the API. */
export const OPTION_NAMES = ["priority", "scheduled_for", "dedupe_key"] as const;
export type OptionName = (typeof OPTION_NAMES)[number];

interface NewJobState {
  readonly values: Readonly<Record<string, string>>;
  readonly freeText: string;
  readonly options: Readonly<Record<OptionName, string>>;
  /** By name in the API; those inside the payload begin with `payload.`. */
  readonly faults: FormFaults;
}

const BLANK: NewJobState = {
  values: {},
  freeText: "{}",
  options: { priority: "", scheduled_for: "", dedupe_key: "" },
  faults: new Map(),
};

/** The state of a job that is being composed. */
export function useNewJob(tenant: string, definitions: readonly Definition[], onCreated: (job: Job) => void) {
  const [key, setKey] = useState(definitions[0]?.key ?? "");
  const [state, setState] = useState(BLANK);
  const setFaults = (faults: FormFaults) => setState((now) => ({ ...now, faults }));
  const { send, pending } = useSendJob(tenant, onCreated, setFaults);
  const definition = definitions.find((candidate) => candidate.key === key);
  const form = schemaForm(definition?.arg_schema ?? {});

  const submit = () => {
    if (!definition) return;
    const { body, faults } = bodyOf(definition.key, form, state);
    if (body) send(body);
    else setFaults(faults);
  };
  const choose = (next: string) => {
    setKey(next);
    setState((now) => ({ ...now, values: {}, faults: new Map() }));
  };
  const set = {
    freeText: (freeText: string) => setState((now) => ({ ...now, freeText })),
    value: (name: string, value: string) =>
      setState((now) => ({
        ...now,
        values: { ...now.values, [name]: value },
        faults: withoutFault(now.faults, `payload.${name}`),
      })),
    option: (name: OptionName, value: string) =>
      setState((now) => ({
        ...now,
        options: { ...now.options, [name]: value },
        faults: withoutFault(now.faults, name),
      })),
  };
  return { definition, choose, state, set, form, submit, pending };
}

/**
 * Sends a job. The idempotency key stands for one intent: however often it is sent, one job is created. The key changes
 * only when the content changes.
 */
function useSendJob(tenant: string, onCreated: (job: Job) => void, onRefused: (faults: FormFaults) => void) {
  const create = useCreateJob(tenant);
  const { keyFor, forgetRefused } = useIntentKey();
  // The second click of a double click arrives before the first one has been rendered.
  const sending = useRef(false);
  const send = (body: CreateJob) => {
    if (sending.current) return;
    sending.current = true;
    create.mutate(
      { body, key: keyFor(body) },
      {
        onSettled: () => {
          sending.current = false;
        },
        onSuccess: onCreated,
        onError: (error) => {
          forgetRefused(error);
          onRefused(explain(error));
        },
      },
    );
  };
  return { send, pending: create.isPending };
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

function explain(error: Error): FormFaults {
  if (!(error instanceof ApiError)) return new Map([["", error.message]]);
  if (error.errors.length > 0)
    return new Map(error.errors.map(({ pointer, detail }) => [fieldOfPointer(pointer) || "request", detail]));
  const request = error.requestId ? ` (request ${error.requestId})` : "";
  return new Map([["", `${error.detail || error.title}${request}`]]);
}

/** Returns the field that a pointer into the body refers to: `/payload/path/0` is the payload's field `path`. */
function fieldOfPointer(pointer: string): string {
  const head = pointerHead(pointer);
  if (head !== "payload") return head;
  const inner = pointerHead(pointer.slice("/payload".length));
  return inner === "" ? "payload" : `payload.${inner}`;
}
