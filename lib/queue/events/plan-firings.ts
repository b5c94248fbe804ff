import type { Turns } from "@/lib/turns";
import { cutText } from "../clean.policy";
import type { EventReason, NewJob } from "../types";
import { type Asked, askForJob, inWords, matchWork, mismatchOf, type OccurredEvent } from "./event-match.policy";
import { LOOP_SUSPECTED } from "./held-firings.sql";
import type { Listener } from "./listeners";

const PART_MAX = 300;
const DETAIL_MAX = 500;
/** Bytes of the misses that are stored for one event. */
const MISSES_MAX_BYTES = 4096;
/** The most characters of all payloads of one event, which is never divided. Its other triggers fail. */
const CHARACTERS_MAX = 4 * 1024 * 1024;
/** Bytes of the other fields of a miss or a firing as JSON. */
const ROW_BYTES = 100;

/** The stored record of a trigger that listened and did not match. */
export interface StoredMiss {
  readonly trigger_id: string;
  readonly reason: "condition" | "expired";
  readonly part: string | null;
  readonly detail: string | null;
}

/** A trigger that matched an event: the job to enqueue, or why there is none. */
export type PlannedFiring = { readonly event: OccurredEvent; readonly listener: Listener } & (
  | { readonly job: NewJob }
  | { readonly outcome: "failed" | "skipped"; readonly reason: string; readonly detail: string | null }
);

export interface EventPlan {
  readonly event: OccurredEvent;
  readonly considered: number;
  readonly misses: readonly StoredMiss[];
  readonly firings: readonly PlannedFiring[];
  /** Why the event can start nothing; null if it may start something. */
  readonly reason: EventReason | null;
  /** Approximate characters of all payloads together. */
  readonly characters: number;
  /** Approximate bytes of stored misses and failures. */
  readonly noteBytes: number;
}

export interface PlanLimits {
  readonly maxDepth: number;
  /** Depths of the event for some triggers, by trigger id; for the others, the event's own depth applies. */
  readonly depths?: ReadonlyMap<string, number> | undefined;
}

/** Returns the most work that an event can be for these triggers, in the unit of `matchWork`. */
export function planWork(event: OccurredEvent, listeners: readonly Listener[]): number {
  // Writing the data takes time, so an event without triggers is not written.
  if (listeners.length === 0) return 0;
  const characters = JSON.stringify(event.data ?? null).length;
  return listeners.reduce(
    (sum, { understood }) => sum + ("listener" in understood ? matchWork(understood.listener, characters) : 1),
    0,
  );
}

/** Plans the firings of an event for the triggers that listen to it. Yields the event loop between triggers. */
export async function planEvent(
  event: OccurredEvent,
  listeners: readonly Listener[],
  { maxDepth, depths, turns }: PlanLimits & { readonly turns: Turns },
): Promise<EventPlan> {
  const misses: StoredMiss[] = [];
  const firings: PlannedFiring[] = [];
  let [characters, missBytes, failureBytes] = [0, 0, 0];
  for (const listener of listeners) {
    await turns.next();
    const miss = missOf(listener, event);
    if (miss) {
      missBytes += bytesOf(miss);
      if (missBytes <= MISSES_MAX_BYTES) misses.push(miss);
      continue;
    }
    const own = depths?.get(listener.id);
    const depth = own ?? event.depth;
    const tooDeep = own === undefined ? TOO_DEEP : HELD;
    const asked = depth >= maxDepth ? tooDeep : characters > CHARACTERS_MAX ? TOO_MUCH : askOf(listener, event);
    if ("job" in asked) {
      characters += asked.characters;
      firings.push({ event, listener, job: { ...jobOf(listener, event, asked.job), chainDepth: depth + 1 } });
    } else {
      const outcome = asked === tooDeep ? ("skipped" as const) : ("failed" as const);
      const detail = cutText(inWords(asked.problems), DETAIL_MAX);
      failureBytes += ROW_BYTES + Buffer.byteLength(detail);
      firings.push({ event, listener, outcome, reason: asked.reason, detail });
    }
  }
  const reason = whyNothing(listeners, firings);
  const noteBytes = Math.min(missBytes, MISSES_MAX_BYTES) + failureBytes;
  return { event, considered: listeners.length, misses, firings, reason, characters, noteBytes };
}

const bytesOf = ({ part, detail }: StoredMiss): number =>
  ROW_BYTES + Buffer.byteLength(part ?? "") + Buffer.byteLength(detail ?? "");

const TOO_DEEP = {
  reason: "loop",
  problems: [{ pointer: "", code: "loop", detail: "too many jobs caused each other before this event" }],
} as const;

const TOO_MUCH = {
  reason: "payload",
  problems: [
    { pointer: "", code: "too-large", detail: "this event's other triggers have payloads of 4 MiB together already" },
  ],
} as const;

const HELD = {
  reason: LOOP_SUSPECTED,
  problems: [
    { pointer: "", code: "loop", detail: "jobs of this trigger ran one after the other as the change was made" },
  ],
} as const;

function whyNothing(listeners: readonly Listener[], firings: readonly PlannedFiring[]): EventReason | null {
  if (listeners.length === 0) return "no_trigger";
  if (firings.length === 0) return "no_match";
  return firings.every((firing) => "outcome" in firing && firing.outcome === "skipped") ? "loop" : null;
}

function missOf({ id, isExpired, understood }: Listener, event: OccurredEvent): StoredMiss | null {
  if (isExpired) return { trigger_id: id, reason: "expired", part: null, detail: null };
  if ("problems" in understood) return null;
  const failing = mismatchOf(understood.listener, event);
  return (
    failing && { trigger_id: id, reason: "condition", part: cutText(failing.text, PART_MAX), detail: failing.detail }
  );
}

function askOf({ understood }: Listener, event: OccurredEvent): Asked {
  if ("problems" in understood) return { reason: "template", problems: understood.problems };
  return askForJob(understood.listener, event);
}

function jobOf(
  { definitionKey, queue, priority }: Listener,
  event: OccurredEvent,
  asked: Pick<NewJob, "payload" | "dedupeKey" | "dedupe">,
): NewJob {
  return {
    ...asked,
    definitionKey,
    ...(queue === null ? {} : { queue }),
    ...(priority === null ? {} : { priority }),
    correlationId: event.correlationId,
    source: "event",
    sourceRef: event.id,
  };
}
