"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useIntentKey } from "@/lib/client/forms/use-intent-key";
import { ApiError } from "@/lib/client/http";
import { pointerHead } from "@/lib/client/triggers/schema-form";
import {
  type Clash,
  createBodyOf,
  type FieldName,
  mergeFields,
  patchOf,
  type TriggerFields,
  triggerBodyOf,
  triggerFieldsOf,
} from "@/lib/client/triggers/trigger-form";
import { triggerOptions, useCreateTrigger, useUpdateTrigger } from "@/lib/client/triggers/triggers";
import type { Trigger } from "@/lib/contract";

/** A problem of a field; `at` is a JSON pointer inside the field. */
export interface Fault {
  readonly at: string;
  readonly detail: string;
}
export type Faults = ReadonlyMap<string, readonly Fault[]>;

interface Base {
  readonly fields: TriggerFields;
  /** The version of `fields`; null for a trigger that is not stored yet. */
  readonly version: number | null;
}

interface FormState {
  readonly fields: TriggerFields;
  readonly base: Base;
  readonly faults: Faults;
  readonly general: string | null;
  readonly clashes: readonly Clash[];
}

export interface TriggerForm {
  readonly fields: TriggerFields;
  readonly set: (name: FieldName, value: string) => void;
  readonly faults: Faults;
  readonly general: string | null;
  /** Changes by another user since the form was opened; the user's own edits are kept. */
  readonly clashes: readonly Clash[];
  readonly isNew: boolean;
  readonly isChanged: boolean;
  readonly pending: boolean;
  readonly submit: () => void;
}

interface FormStart {
  readonly slug: string;
  readonly initial: TriggerFields;
  /** The edited trigger; null for a new one. */
  readonly trigger: Trigger | null;
  readonly onSaved: (trigger: Trigger) => void;
}

const NO_FAULTS: Faults = new Map();

/** The state of a trigger form. A new trigger is created once; an edit never overwrites another user's change. */
export function useTriggerForm(start: FormStart): TriggerForm {
  const { slug, trigger, onSaved } = start;
  const client = useQueryClient();
  const create = useCreateTrigger(slug);
  const update = useUpdateTrigger(slug);
  const { keyFor, forgetRefused } = useIntentKey();
  const [state, setState] = useState(() => firstState(start));
  const fail = (faults: Faults, general: string | null) => setState((now) => ({ ...now, faults, general }));

  const adopt = async (id: string) => {
    const fresh = await client.fetchQuery({ ...triggerOptions(slug, id), staleTime: 0 });
    setState((now) => {
      const theirs = triggerFieldsOf(fresh);
      const { fields, clashes } = mergeFields(now.base.fields, now.fields, theirs);
      return { fields, clashes, base: { fields: theirs, version: fresh.version }, faults: NO_FAULTS, general: null };
    });
  };
  const refused = (error: Error) => {
    forgetRefused(error);
    if (trigger && error instanceof ApiError && error.status === 412)
      adopt(trigger.id).catch((lost: Error) => fail(NO_FAULTS, lost.message));
    else fail(...faultsOfError(error));
  };
  const submit = () => {
    if (create.isPending || update.isPending) return;
    const { faults } = triggerBodyOf(state.fields);
    if (faults.size > 0) return fail(new Map([...faults].map(([name, detail]) => [name, [{ at: "", detail }]])), null);
    const handlers = { onSuccess: onSaved, onError: refused };
    const { version } = state.base;
    if (trigger && version !== null) {
      const patch = patchOf(state.base.fields, state.fields);
      if (!patch) return onSaved(trigger);
      return update.mutate({ id: trigger.id, version, patch }, handlers);
    }
    const body = createBodyOf(state.fields);
    create.mutate({ body, key: keyFor(body) }, handlers);
  };
  return {
    ...state,
    set: (name, value) => setState((now) => withField(now, name, value)),
    isNew: trigger === null,
    isChanged: patchOf(state.base.fields, state.fields) !== null,
    pending: create.isPending || update.isPending,
    submit,
  };
}

const firstState = ({ initial, trigger }: FormStart): FormState => ({
  fields: initial,
  base: { fields: initial, version: trigger?.version ?? null },
  faults: NO_FAULTS,
  general: null,
  clashes: [],
});

const withField = (state: FormState, name: FieldName, value: string): FormState => ({
  ...state,
  fields: { ...state.fields, ...(name === "trigger_type" ? usualFor(value) : {}), [name]: value },
  faults: without(state.faults, name),
});

/** The defaults of a kind of trigger, unless the user changes them. */
const usualFor = (kind: string) => ({ overlap_policy: kind === "event" ? "allow" : "skip" });

function without(faults: Faults, name: string): Faults {
  return faults.has(name) ? new Map([...faults].filter(([other]) => other !== name)) : faults;
}

/** Fields whose names differ between form and API. */
const RENAMED: Readonly<Record<string, FieldName>> = { interval_ms: "interval_every" };

/** Returns the problems in a refusal by field, and the general one. `inside` is the trigger's position in the body. */
export function faultsOfError(error: Error, inside = ""): [Faults, string | null] {
  if (!(error instanceof ApiError)) return [NO_FAULTS, error.message];
  const faults = new Map<string, Fault[]>();
  for (const { pointer, detail } of error.errors) {
    const path = pointer.startsWith(`${inside}/`) ? pointer.slice(inside.length) : pointer;
    const plain = path.replace(/^\/dst_policy\/(gap|overlap)/, "/dst_$1");
    const head = pointerHead(plain);
    const name = RENAMED[head] ?? head;
    const rest = plain.indexOf("/", 1);
    faults.set(name, [...(faults.get(name) ?? []), { at: rest < 0 ? "" : plain.slice(rest), detail }]);
  }
  const request = error.requestId ? ` (request ${error.requestId})` : "";
  return [faults, faults.size > 0 ? null : `${error.detail || error.title}${request}`];
}
