import { TRIGGER_KEYS } from "../enqueue/new-job.policy";
import { QueueError } from "../errors";
import {
  type ConditionPart,
  compileTriggerCondition,
  explainTriggerCondition,
  failingPart,
  type TriggerCondition,
} from "../triggers/trigger-condition.policy";
import {
  compileTriggerTemplate,
  type EventContext,
  renderTriggerTemplate,
  renderTriggerText,
  type TriggerTemplate,
} from "../triggers/trigger-template.policy";
import type { EventSource, FieldProblem, NewJob } from "../types";
import { contentKey } from "./content-key.policy";

/** Events at this depth start no further jobs, which ends chains of events and jobs that cause each other. */
export const EVENT_MAX_DEPTH = 8;
const KEY_MAX = 512;

/** An event as it is compared with triggers. */
export interface OccurredEvent {
  readonly id: string;
  readonly name: string;
  readonly data: unknown;
  readonly receivedAt: Date;
  readonly producerId: string | null;
  readonly correlationId: string;
  readonly source: EventSource;
  readonly depth: number;
}

/** The fields of a trigger that matter for events, as texts and JSON. */
export interface ListenerText {
  readonly id: string;
  readonly label: string;
  readonly condition: string | null;
  readonly payloadTemplate: unknown;
  readonly dedupeKeyTemplate: string | null;
  /** 0 = no window. */
  readonly dedupeWindowSeconds: number;
}

/** A trigger with its compiled texts. */
export interface CompiledListener {
  readonly text: ListenerText;
  readonly condition: TriggerCondition | null;
  readonly payload: TriggerTemplate;
  readonly key: TriggerTemplate | null;
}

/** Compiles a trigger, or returns its problems; pointers name its fields. */
export function compileListener(
  text: ListenerText,
): { readonly listener: CompiledListener } | { readonly problems: readonly FieldProblem[] } {
  const condition = text.condition === null ? null : compileTriggerCondition(text.condition);
  const payload = compileTriggerTemplate(text.payloadTemplate, "event");
  const key = text.dedupeKeyTemplate === null ? null : compileTriggerTemplate(text.dedupeKeyTemplate, "event");
  const problems = [
    ...problemsAt("/condition", condition),
    ...problemsAt("/payload_template", payload),
    ...problemsAt("/dedupe_key_template", key),
  ];
  if (problems.length > 0 || "problems" in payload) return { problems };
  return {
    listener: {
      text,
      condition: condition && "condition" in condition ? condition.condition : null,
      payload: payload.template,
      key: key && "template" in key ? key.template : null,
    },
  };
}

const problemsAt = (pointer: string, found: object | null): readonly FieldProblem[] =>
  found !== null && "problems" in found
    ? (found.problems as readonly FieldProblem[]).map((problem) => ({ ...problem, pointer: pointer + problem.pointer }))
    : [];

export type Match =
  | { readonly matched: false; readonly parts: readonly ConditionPart[] }
  | { readonly matched: true; readonly parts: readonly ConditionPart[] };

/** Returns the first part of the condition that does not hold for an event, or null if the trigger matches. */
export function mismatchOf(listener: CompiledListener, event: OccurredEvent): ConditionPart | null {
  return listener.condition && failingPart(listener.condition, contextOf(listener.text, event));
}

/** Evaluates all parts of a trigger's condition for an event. */
export function matchEvent(listener: CompiledListener, event: OccurredEvent): Match {
  if (!listener.condition) return { matched: true, parts: [] };
  const { event: data, meta } = contextOf(listener.text, event);
  const { holds, parts } = explainTriggerCondition(listener.condition, { event: data, meta });
  return { matched: holds, parts };
}

/**
 * Returns the most work that `mismatchOf` can be, in characters that are read; 50 million take about a second.
 * `characters` is the length of the event's data as JSON.
 */
export function matchWork({ condition }: Pick<CompiledListener, "condition">, characters: number): number {
  const { joins = 0, looks = 0 } = condition ?? {};
  return (1 + joins) * FAULT_CHARACTERS + looks * characters;
}

/** Like `matchWork`, for `matchEvent`, which evaluates all parts. */
export const explainWork = (listener: CompiledListener, characters: number): number =>
  matchWork(listener, characters) + (listener.condition?.parts.length ?? 0) * FAULT_CHARACTERS;

/**
 * A path that leads nowhere costs as much as reading this many characters, which is more than everything else for one
 * pair of event and trigger.
 */
const FAULT_CHARACTERS = 500;

/** The result of rendering a matched trigger: the job to enqueue, or why there is none. */
export type Asked =
  | { readonly job: Pick<NewJob, "payload" | "dedupeKey" | "dedupe">; readonly characters: number }
  | { readonly reason: "template" | "payload" | "dedupe_key"; readonly problems: readonly FieldProblem[] };

/**
 * Renders payload and dedupe key. Without a key template, the key is the trigger's id and the hash of the payload.
 * With a window of 0 seconds, there is no default key, and a templated key is held until its job ends.
 */
export function askForJob({ text, payload, key }: CompiledListener, event: OccurredEvent): Asked {
  const context = contextOf(text, event);
  const rendered = renderTriggerTemplate(payload, context);
  if ("problems" in rendered) return { reason: reasonOf(rendered.problems), problems: rendered.problems };
  const base = { payload: rendered.payload };
  const { characters } = rendered;
  const windowSeconds = text.dedupeWindowSeconds;
  if (!key && windowSeconds === 0) return { job: base, characters };
  const named = key ? renderTriggerText(key, context, KEY_MAX) : hashedKey(text.id, rendered.payload);
  if ("tooLong" in named) return { reason: "dedupe_key", problems: [keyTooLong(named.tooLong)] };
  if ("problems" in named) return { reason: key ? "dedupe_key" : "payload", problems: named.problems };
  const problem = key && problemOfKey(named.text);
  if (problem) return { reason: "dedupe_key", problems: [problem] };
  const dedupe = windowSeconds === 0 ? { mode: "live" as const } : { mode: "window" as const, windowSeconds };
  return { job: { ...base, dedupeKey: named.text, dedupe }, characters };
}

function problemOfKey(key: string): FieldProblem | null {
  if (key === "") return { pointer: "", code: "length", detail: "the dedupe key is empty" };
  if (key.startsWith(TRIGGER_KEYS))
    return { pointer: "", code: "reserved", detail: `the dedupe key begins with ${TRIGGER_KEYS}` };
  return key.length <= KEY_MAX ? null : keyTooLong(key.length);
}

const keyTooLong = (length: number): FieldProblem => ({
  pointer: "",
  code: "length",
  detail: `the dedupe key has ${length} characters, at most ${KEY_MAX} are allowed`,
});

/** Too many values count as a problem of the payload, like a payload that the definition's schema refuses. */
const reasonOf = ([problem]: readonly FieldProblem[]): "template" | "payload" =>
  problem?.code === "too-many-nodes" ? "payload" : "template";

function hashedKey(
  triggerId: string,
  payload: unknown,
): { readonly text: string } | { readonly problems: readonly FieldProblem[] } {
  try {
    return { text: `${TRIGGER_KEYS}${triggerId}:${contentKey(payload)}` };
  } catch (error) {
    if (error instanceof QueueError) return { problems: error.problems };
    throw error;
  }
}

function contextOf({ id, label }: ListenerText, event: OccurredEvent): EventContext {
  return {
    event: event.data,
    meta: {
      id: event.id,
      name: event.name,
      received_at: event.receivedAt.toISOString(),
      producer_id: event.producerId,
      correlation_id: event.correlationId,
      source: event.source,
    },
    trigger: { id, label },
  };
}

/** Joins problems in one line, for the stored detail of a failure. */
export const inWords = (problems: readonly FieldProblem[]): string =>
  problems.map(({ pointer, detail }) => `${pointer || "/"} ${detail}`).join("; ");
