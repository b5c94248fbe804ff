import * as z from "zod";
import { EVENT_REASONS, EVENT_SOURCES } from "@/lib/queue/states";
import type {
  Event,
  EventFiring,
  EventMiss,
  EventRow,
  Published,
  ReplayedEvent,
  TriggerTest,
  TriggerTests,
} from "@/lib/queue/types";
import { definitionKey, id, instant, instantIn, jobStatus, json, jsonObject, queryInteger } from "./common";
import { LIMITS } from "./limits";
import { eventName, firingOutcome } from "./triggers";

export type {
  Event,
  EventFiring,
  EventMiss,
  EventRow,
  Published,
  ReplayedEvent,
  TriggerTest,
  TriggerTests,
} from "@/lib/queue/types";

export const eventSource = z.enum(EVENT_SOURCES);

/** Why an event started no job. `loop`: it is too deep in a chain of events and jobs that cause each other. */
export const eventReason = z.enum(EVENT_REASONS);

const correlationId = z.string().min(1).max(LIMITS.correlationIdLength);
const eventFields = {
  name: eventName,
  data: jsonObject.default({}),
  /** The producer's own id. The same id is stored only once; a repeat returns the stored event. */
  producer_id: z.string().min(1).max(LIMITS.producerIdLength).optional(),
  correlation_id: correlationId.optional(),
};
const newEvent = z.strictObject(eventFields);
export type NewEventBody = z.input<typeof newEvent>;

/** Body of POST /api/v1/events: one event, or `events` with up to 500. All are stored, or none. */
export const publishEventsBody = z
  .strictObject({
    ...eventFields,
    name: eventName.optional(),
    data: jsonObject.optional(),
    events: z.array(newEvent).min(1).max(LIMITS.eventsMax).optional(),
  })
  .superRefine((body, context) => {
    if (body.events === undefined) {
      if (body.name === undefined) context.addIssue({ code: "custom", path: ["name"], message: "is required" });
      return;
    }
    const { events: _events, ...single } = body;
    for (const field of Object.keys(single))
      context.addIssue({ code: "custom", path: [field], message: "does not go with events" });
  });
export type PublishEvents = z.input<typeof publishEventsBody>;

/** The outcome for one trigger that matched an event. */
export const eventFiring = z.object({
  id,
  trigger_id: id,
  trigger_label: z.string(),
  outcome: firingOutcome,
  reason: z.string().nullable(),
  detail: z.string().nullable(),
  job_id: id.nullable(),
  job_status: jobStatus.nullable(),
  definition_key: z.string(),
}) satisfies z.ZodType<EventFiring>;

export const eventRow = z.object({
  id,
  name: z.string(),
  producer_id: z.string().nullable(),
  source: eventSource,
  correlation_id: z.string(),
  /** Number of jobs between this event and the original manual request. */
  depth: z.int(),
  caused_by_job_id: id.nullable(),
  received_at: instant,
  /** pending: stored, but not yet matched with triggers, which takes about a second. */
  status: z.enum(["pending", "done"]),
  /** Triggers that listen to the name, triggers whose condition was met, and jobs created. */
  considered_count: z.int(),
  matched_count: z.int(),
  started_count: z.int(),
  reason: eventReason.nullable(),
  /** The first 20; GET /api/v1/events/{id} returns up to 1,000. */
  firings: z.array(eventFiring),
}) satisfies z.ZodType<EventRow>;

/** A trigger that listened and did not match, with the part of its condition that was not met. */
export const eventMiss = z.object({
  trigger_id: id,
  trigger_label: z.string().nullable(),
  reason: z.enum(["condition", "expired"]),
  part: z.string().nullable(),
  detail: z.string().nullable(),
}) satisfies z.ZodType<EventMiss>;

export const event = eventRow.extend({
  data: json,
  misses: z.array(eventMiss),
  /** Newest first, 50 at most. */
  replays: z.array(
    z.object({
      at: instant,
      actor_kind: z.enum(["user", "api_key", "system"]),
      actor: z.string().nullable(),
      detail: z.string(),
    }),
  ),
  duplicate: z.boolean().optional(),
}) satisfies z.ZodType<Event>;

const published = z.object({
  id,
  name: z.string(),
  producer_id: z.string().nullable(),
  /** True if an event with this producer_id was stored before; this answer describes the stored one. */
  duplicate: z.boolean(),
  received_at: instant,
  status: z.enum(["pending", "done"]),
  considered_count: z.int(),
  matched_count: z.int(),
  started_count: z.int(),
  reason: eventReason.nullable(),
  job_ids: z.array(id).meta({ description: "The jobs that it started; empty while it is pending" }),
}) satisfies z.ZodType<Published>;
/** The answer to one event is the event; the answer to a batch has `data` in the batch's order. */
export const publishedEvents = z.union([published, z.object({ data: z.array(published) })]);

/** Body of POST /api/v1/events/{id}/replay. */
export const replayEventBody = z.strictObject({});
/** The result of a replay; earlier firings are not counted. */
export const replayedEvent = published.pick({
  id: true,
  considered_count: true,
  matched_count: true,
  started_count: true,
  reason: true,
  job_ids: true,
}) satisfies z.ZodType<ReplayedEvent>;

export const eventParams = z.strictObject({ eventId: id });

/** Query of GET /api/v1/events. */
export const eventListQuery = z.strictObject({
  limit: queryInteger(1, LIMITS.pageSizeMax).optional(),
  cursor: z.string().min(1).max(1024).optional(),
  /** A whole name, or a prefix followed by `*`. */
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}\*?$/, "must be an event name, or its beginning followed by *")
    .optional(),
  since: instantIn.optional(),
  correlation_id: correlationId.optional(),
  caused_by_job_id: id.optional(),
});
export type EventListQuery = z.infer<typeof eventListQuery>;

/** A list of events has a cursor and no total, because events are too many to count. */
export const eventList = z.object({
  data: z.array(eventRow),
  pagination: z.object({ limit: z.int(), has_more: z.boolean(), next_cursor: z.string().nullable() }),
});
export type EventList = z.infer<typeof eventList>;

/** The parts of an unsaved trigger that matter for an event. */
const draftTrigger = z.strictObject({
  label: z.string().max(LIMITS.nameLength).optional(),
  event_name: eventName,
  definition_key: definitionKey.optional(),
  condition: z.string().min(1).max(4000).nullable().optional(),
  payload_template: json.optional(),
  dedupe_key_template: z.string().min(1).max(1000).nullable().optional(),
  dedupe_window_seconds: z.int().min(0).max(LIMITS.dedupeWindowSecondsMax).optional(),
});

/**
 * Body of POST /api/v1/jobs/triggers/test: `event` or `replay`, tested against one trigger, a draft, or all listening
 * triggers.
 */
export const testTriggersBody = z
  .strictObject({
    event: z.strictObject({ ...eventFields, producer_id: eventFields.producer_id }).optional(),
    /** Number of stored events to test, newest first. */
    replay: z.int().min(1).max(LIMITS.replayMax).optional(),
    trigger_id: id.optional(),
    draft: draftTrigger.optional(),
  })
  .refine((body) => (body.event === undefined) !== (body.replay === undefined), "needs either event or replay")
  .refine((body) => body.trigger_id === undefined || body.draft === undefined, {
    path: ["draft"],
    error: "cannot be combined with trigger_id",
  });
export type TestTriggers = z.input<typeof testTriggersBody>;

export const dedupeOfTest = z.object({ key: z.string(), window_seconds: z.int(), held_by_job_id: id.nullable() });

/** The result of testing one event with one trigger. Nothing is written. */
export const triggerTest = z.object({
  /** null: the event of the request. */
  event_id: id.nullable(),
  event_name: z.string(),
  received_at: instant.nullable(),
  /** null: the draft. */
  trigger_id: id.nullable(),
  trigger_label: z.string(),
  matched: z.boolean(),
  /** Why not: another name, a part of the condition, or a trigger that does not listen at present. */
  mismatch: z.enum(["name", "condition", "disabled", "expired"]).nullable(),
  parts: z.array(z.object({ text: z.string(), holds: z.boolean(), detail: z.string().nullable() })),
  /** What would happen; null if it did not match. */
  verdict: z.enum(["start", "deduplicate", "fail"]).nullable(),
  payload: json,
  /** True if the payload would have made the answer too large. */
  payload_omitted: z.boolean(),
  problems: z.array(z.object({ pointer: z.string(), code: z.string(), detail: z.string() })),
  dedupe: dedupeOfTest.nullable(),
}) satisfies z.ZodType<TriggerTest>;

/**
 * `considered` pairs of event and trigger were tested, and `matched` of them matched. `data` has the first 500 results.
 */
export const triggerTests = z.object({
  events: z.int(),
  considered: z.int(),
  matched: z.int(),
  would_start: z.int(),
  data: z.array(triggerTest),
}) satisfies z.ZodType<TriggerTests>;
