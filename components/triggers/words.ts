import type { Trigger } from "@/lib/contract";
import type { FiringOutcome } from "@/lib/queue/states";

type Words<T extends string> = Readonly<Record<T, string>>;

export const KIND_WORDS: Words<Trigger["trigger_type"]> = { event: "Event", schedule: "Schedule" };

export const OVERLAP_WORDS: Words<Trigger["overlap_policy"]> = {
  allow: "Start another job",
  skip: "Skip it",
  queue_one: "Queue one job after it",
};

export const CATCH_UP_WORDS: Words<Trigger["catch_up"]> = {
  skip: "Skip them",
  last: "Run the last one",
  all: "Run all, up to a limit",
};

export const GAP_WORDS = { "": "Default for the schedule", run_after: "Run right after it", skip: "Skip it" };
export const REPEAT_WORDS = {
  "": "Default for the schedule",
  first: "Run the first time only",
  both: "Run both times",
};

const REASONS: Readonly<Record<string, string>> = {
  overlap: "its last job had not ended",
  catch_up: "its time had passed",
  max_runs: "it reached its maximum of runs",
  expired: "it had expired",
  over: "no instant is left",
  dst_gap: "the clock skipped that time",
  template: "the template could not be rendered",
  payload: "the payload does not match the definition",
  loop: "the chain of events is too deep",
  loop_suspected: "held: its own jobs may have changed the folder",
  no_match: "its condition was no longer true",
  disabled: "it was disabled",
  "definition-inactive": "the definition is not active",
  "definition-unknown": "the definition was deleted",
  "queue-unknown": "the queue was deleted",
  "tenant-suspended": "the tenant is suspended",
  "payload-too-large": "the payload is too large",
  schedule: "the schedule is not valid",
  store: "it could not be stored",
};

/** Returns an API reason in words; text after its name is kept. */
export function reasonWords(reason: string): string {
  const [name = "", ...rest] = reason.split(": ");
  const words = (Object.hasOwn(REASONS, name) ? REASONS[name] : undefined) ?? name.replaceAll(/[_-]/g, " ");
  return [words, ...rest].join(": ");
}

export const OUTCOME_WORDS: Words<FiringOutcome> = {
  enqueued: "Started",
  deduplicated: "Deduplicated",
  skipped: "Skipped",
  failed: "Failed",
};

export const WARNING_WORDS = {
  never: "It never fires: the schedule has no future run.",
  too_often: "It fires more often than once a minute.",
} as const;

/** Returns the event's name, or the schedule in words with its zone. */
export function whenWords(trigger: Trigger): string {
  if (trigger.trigger_type === "schedule") return trigger.description ?? trigger.cron_expr ?? "";
  return `${trigger.event_name ?? ""}${trigger.condition === null ? "" : ` when ${trigger.condition}`}`;
}
