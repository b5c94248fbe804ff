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
    correlation_id: query.correlation_id,
    caused_by_job_id: query.caused_by_job_id,
  });
}

export function testRequest(body: z.output<typeof testTriggersBody>): TestRequest {
  const { draft } = body;
  return defined({
    event: body.event && newEvent(body.event, 0),
    replay: body.replay,
    trigger_id: body.trigger_id,
    draft: draft && defined(draft),
  });
}

export function serializePublished(event: PublishedEvent): Published {
  return { ...summary(event), duplicate: event.duplicate, job_ids: [...event.job_ids] };
}

export function serializeReplayed({ id, considered_count: considered, matched_count: matched, started_count: started, reason, job_ids: jobIds }: ReplayedEvent): ReplayedBody {
  return {
    id,
    considered_count: considered,
    matched_count: matched,
    started_count: started,
    reason,
    job_ids: [...jobIds],
  };
}

function summary(event: Omit<PublishedEvent, "duplicate" | "job_ids">) {
  return {
    id: event.id,
    name: event.name,
    producer_id: event.producer_id,
    received_at: event.received_at.toISOString(),
    status: event.status,
    considered_count: event.considered_count,
    matched_count: event.matched_count,
    started_count: event.started_count,
    reason: event.reason,
  };
}

export function serializeEventRow(event: EventView): EventRow {
  return {
    ...summary(event),
    source: event.source,
    correlation_id: event.correlation_id,
    depth: event.depth,
    caused_by_job_id: event.caused_by_job_id,
    firings: event.firings.map(serializeFiring),
  };
}

function serializeFiring(firing: EventFiring): EventFiringBody {
  return {
    id: firing.id,
    trigger_id: firing.trigger_id,
    trigger_label: firing.trigger_label,
    outcome: firing.outcome,
    reason: firing.reason,
    detail: firing.detail,
    job_id: firing.job_id,
    job_status: firing.job_status,
    definition_key: firing.definition_key,
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
      trigger_id: miss.trigger_id,
      trigger_label: miss.trigger_label,
      reason: miss.reason,
      part: miss.part,
      detail: miss.detail,
    })),
    replays: event.replays.map(({ at, actor_kind: actorKind, actor, detail }) => ({
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
    would_start: counts.would_start,
    data: results.map((result) => ({
      event_id: result.event_id,
      event_name: result.event_name,
      received_at: result.received_at?.toISOString() ?? null,
      trigger_id: result.trigger_id,
      trigger_label: result.trigger_label,
      matched: result.matched,
      mismatch: result.mismatch,
      parts: result.parts.map((part) => ({ ...part })),
      verdict: result.verdict,
      payload: result.payload,
      payload_omitted: result.payload_omitted,
      problems: result.problems.map((problem) => ({ ...problem })),
      dedupe: result.dedupe && {
        key: result.dedupe.key,
        window_seconds: result.dedupe.window_seconds,
        held_by_job_id: result.dedupe.held_by_job_id,
      },
    })),
  };
}
