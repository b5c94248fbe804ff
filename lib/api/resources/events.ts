import type * as z from "zod";
import type {
  Event,
  EventFiring as EventFiringBody,
  EventListQuery,
  EventRow,
  Published,
  publishEventsBody,
  ReplayedEvent as ReplayedBody,
  TenantPermission,
  TriggerTests as TriggerTestsBody,
  testTriggersBody,
} from "@/lib/contract";
import type {
  EventDetail,
  EventFilter,
  EventFiring,
  EventView,
  NewEvent,
  PublishedEvent,
  ReplayedEvent,
  TestRequest,
  TriggerTests,
} from "@/lib/queue/types";
import { dateOf, defined } from "./filters";

type Body = z.output<typeof publishEventsBody>;
type OneEvent = Pick<Body, "name" | "data" | "producer_id" | "correlation_id">;

/** Converts the events of a request to the queue's terms. `depth` is the chain depth of the job that publishes them. */
export function newEvents({ events, ...single }: Body, depth: number): NewEvent[] {
  return (events ?? [single]).map((event) => newEvent(event, depth));
}

function newEvent(event: OneEvent, depth: number): NewEvent {
  return {
    name: event.name ?? "",
    data: event.data ?? {},
    source: "api",
    depth,
    ...defined({ producerId: event.producer_id, correlationId: event.correlation_id }),
  };
}

export function eventFilter(query: Omit<EventListQuery, "limit" | "cursor">): EventFilter {
  return defined({
    name: query.name,
    since: dateOf(query.since),
    correlationId: query.correlation_id,
    causedByJobId: query.caused_by_job_id,
  });
}

export function testRequest(body: z.output<typeof testTriggersBody>): TestRequest {
  const { draft } = body;
  return defined({
    event: body.event && newEvent(body.event, 0),
    replay: body.replay,
    triggerId: body.trigger_id,
    draft:
      draft &&
      defined({
        label: draft.label,
        eventName: draft.event_name,
        definitionKey: draft.definition_key,
        condition: draft.condition,
        payloadTemplate: draft.payload_template,
        dedupeKeyTemplate: draft.dedupe_key_template,
        dedupeWindowSeconds: draft.dedupe_window_seconds,
      }),
  });
}

export function serializePublished(event: PublishedEvent): Published {
  return { ...summary(event), duplicate: event.duplicate, job_ids: [...event.jobIds] };
}

export function serializeReplayed({ id, considered, matched, started, reason, jobIds }: ReplayedEvent): ReplayedBody {
  return {
    id,
    considered_count: considered,
    matched_count: matched,
    started_count: started,
    reason,
    job_ids: [...jobIds],
  };
}

function summary(event: Omit<PublishedEvent, "duplicate" | "jobIds">) {
  return {
    id: event.id,
    name: event.name,
    producer_id: event.producerId,
    received_at: event.receivedAt.toISOString(),
    status: event.status,
    considered_count: event.considered,
    matched_count: event.matched,
    started_count: event.started,
    reason: event.reason,
  };
}

export function serializeEventRow(event: EventView): EventRow {
  return {
    ...summary(event),
    source: event.source,
    correlation_id: event.correlationId,
    depth: event.depth,
    caused_by_job_id: event.causedByJobId,
    firings: event.firings.map(serializeFiring),
  };
}

function serializeFiring(firing: EventFiring): EventFiringBody {
  return {
    id: firing.id,
    trigger_id: firing.triggerId,
    trigger_label: firing.triggerLabel,
    outcome: firing.outcome,
    reason: firing.reason,
    detail: firing.detail,
    job_id: firing.jobId,
    job_status: firing.jobStatus,
    definition_key: firing.definitionKey,
  };
}

/** Events of jobs include their outcome, so their data is only for callers with `jobs:read`. */
const OF_JOBS = /^job\./;

export function serializeEvent(event: EventDetail, permissions: readonly TenantPermission[]): Event {
  const isShown = permissions.includes("jobs:read") || !OF_JOBS.test(event.name);
  return {
    ...serializeEventRow(event),
    data: isShown ? event.data : {},
    misses: event.misses.map((miss) => ({
      trigger_id: miss.triggerId,
      trigger_label: miss.triggerLabel,
      reason: miss.reason,
      part: miss.part,
      detail: miss.detail,
    })),
    replays: event.replays.map(({ at, actorKind, actor, detail }) => ({
      at: at.toISOString(),
      actor_kind: actorKind,
      actor,
      detail,
    })),
  };
}

export function serializeTests({ results, ...counts }: TriggerTests): TriggerTestsBody {
  return {
    events: counts.events,
    considered: counts.considered,
    matched: counts.matched,
    would_start: counts.wouldStart,
    data: results.map((result) => ({
      event_id: result.eventId,
      event_name: result.eventName,
      received_at: result.receivedAt?.toISOString() ?? null,
      trigger_id: result.triggerId,
      trigger_label: result.triggerLabel,
      matched: result.matched,
      mismatch: result.mismatch,
      parts: result.parts.map((part) => ({ ...part })),
      verdict: result.verdict,
      payload: result.payload,
      payload_omitted: result.payloadOmitted,
      problems: result.problems.map((problem) => ({ ...problem })),
      dedupe: result.dedupe && {
        key: result.dedupe.key,
        window_seconds: result.dedupe.windowSeconds,
        held_by_job_id: result.dedupe.heldByJobId,
      },
    })),
  };
}
