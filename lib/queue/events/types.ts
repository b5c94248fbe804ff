/** Shapes of events and their firings. Client-safe: types only; exported through types.ts. */
import type { EventReason, EventSource, JobStatus } from "../states";
import type { FiringOutcome } from "../triggers/types";

export type { EventReason, EventSource } from "../states";

/** An event to publish. */
export interface NewEvent {
  readonly name: string;
  /** A JSON object; default {}. */
  readonly data?: unknown;
  /** The producer's own id: a producer's event with the same id is stored once. */
  readonly producerId?: string;
  /** Default: the event's own id. Jobs that the event starts inherit it. */
  readonly correlationId?: string;
  /** Default: app. */
  readonly source?: EventSource;
  /** The length of the chain of jobs that led to this event; default 0. */
  readonly depth?: number;
  readonly causedByJobId?: string;
}

export interface Published {
  readonly id: string;
  readonly name: string;
  readonly producer_id: string | null;
  /** True if an event with this producer id existed; the existing event is returned. */
  readonly duplicate: boolean;
  readonly received_at: string;
  /** pending: stored, and still to be compared by the leading scheduler. */
  readonly status: "pending" | "done";
  readonly considered_count: number;
  readonly matched_count: number;
  readonly started_count: number;
  readonly reason: EventReason | null;
  /** The jobs that it made, in the order of the firings. */
  readonly job_ids: readonly string[];
}

/** The result of a replay, without earlier firings. */
export type ReplayedEvent = Pick<
  Published,
  "id" | "considered_count" | "matched_count" | "started_count" | "reason" | "job_ids"
>;

/** A replay of an event. */
export interface EventReplay {
  readonly at: string;
  readonly actor_kind: "user" | "api_key" | "system";
  /** An email address, or the name of an API key; null if it was deleted. */
  readonly actor: string | null;
  readonly detail: string;
}

/** A trigger that listened and did not match, and the part of its condition that did not hold. */
export interface EventMiss {
  readonly trigger_id: string;
  readonly trigger_label: string | null;
  readonly reason: "condition" | "expired";
  readonly part: string | null;
  readonly detail: string | null;
}

export interface EventFiring {
  readonly id: string;
  readonly trigger_id: string;
  readonly trigger_label: string;
  readonly definition_key: string;
  readonly outcome: FiringOutcome;
  readonly reason: string | null;
  readonly detail: string | null;
  readonly job_id: string | null;
  readonly job_status: JobStatus | null;
}

export interface EventRow extends Omit<Published, "duplicate" | "job_ids"> {
  readonly source: EventSource;
  readonly correlation_id: string;
  readonly depth: number;
  readonly caused_by_job_id: string | null;
  readonly firings: readonly EventFiring[];
}

export interface Event extends EventRow {
  readonly data: unknown;
  readonly misses: readonly EventMiss[];
  /** Newest first, at most 50. */
  readonly replays: readonly EventReplay[];
}

export interface EventFilter {
  /** A whole name, or a prefix followed by `*`. */
  readonly name?: string;
  /** Inclusive. */
  readonly since?: string;
  readonly correlation_id?: string;
  readonly caused_by_job_id?: string;
}

/** A trigger that is not stored, with the fields that matter for events. */
export interface DraftTrigger {
  readonly label?: string;
  readonly event_name: string;
  readonly definition_key?: string;
  readonly condition?: string | null;
  readonly payload_template?: unknown;
  readonly dedupe_key_template?: string | null;
  readonly dedupe_window_seconds?: number;
}

/** The events and triggers to test: an example event or the newest stored ones; one trigger, a draft, or all. */
export interface TestRequest {
  readonly event?: NewEvent;
  readonly replay?: number;
  readonly trigger_id?: string;
  readonly draft?: DraftTrigger;
}

export interface TriggerTest {
  readonly event_id: string | null;
  readonly event_name: string;
  readonly received_at: string | null;
  readonly trigger_id: string | null;
  readonly trigger_label: string;
  readonly matched: boolean;
  readonly mismatch: "name" | "condition" | "disabled" | "expired" | null;
  readonly parts: readonly { readonly text: string; readonly holds: boolean; readonly detail: string | null }[];
  readonly verdict: "start" | "deduplicate" | "fail" | null;
  readonly payload: unknown;
  /** True if the payload was left out because the response would have been too large. */
  readonly payload_omitted: boolean;
  readonly problems: readonly { readonly pointer: string; readonly code: string; readonly detail: string }[];
  readonly dedupe: {
    readonly key: string;
    readonly window_seconds: number;
    readonly held_by_job_id: string | null;
  } | null;
}

export interface TriggerTests {
  readonly events: number;
  readonly considered: number;
  readonly matched: number;
  readonly would_start: number;
  /** The first 500 results. */
  readonly data: readonly TriggerTest[];
}
