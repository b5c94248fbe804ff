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
  /** The number of jobs that caused each other before this event; default 0. */
  readonly depth?: number;
  readonly causedByJobId?: string;
}

export interface PublishedEvent {
  readonly id: string;
  readonly name: string;
  readonly producerId: string | null;
  /** True if an event with this producer id existed; the existing event is returned. */
  readonly duplicate: boolean;
  readonly receivedAt: Date;
  /** pending: stored, and still to be compared by the leading scheduler. */
  readonly status: "pending" | "done";
  readonly considered: number;
  readonly matched: number;
  readonly started: number;
  readonly reason: EventReason | null;
  /** The jobs that it made, in the order of the firings. */
  readonly jobIds: readonly string[];
}

/** The result of a replay, without earlier firings. */
export type ReplayedEvent = Pick<PublishedEvent, "id" | "considered" | "matched" | "started" | "reason" | "jobIds">;

/** A replay of an event. */
export interface EventReplay {
  readonly at: Date;
  readonly actorKind: "user" | "api_key" | "system";
  /** An email address, or the name of an API key; null if it was deleted. */
  readonly actor: string | null;
  readonly detail: string;
}

/** A trigger that listened and did not match, and the part of its condition that did not hold. */
export interface EventMiss {
  readonly triggerId: string;
  readonly triggerLabel: string | null;
  readonly reason: "condition" | "expired";
  readonly part: string | null;
  readonly detail: string | null;
}

export interface EventFiring {
  readonly id: string;
  readonly triggerId: string;
  readonly triggerLabel: string;
  readonly definitionKey: string;
  readonly outcome: FiringOutcome;
  readonly reason: string | null;
  readonly detail: string | null;
  readonly jobId: string | null;
  readonly jobStatus: JobStatus | null;
}

export interface EventView extends Omit<PublishedEvent, "duplicate" | "jobIds"> {
  readonly source: EventSource;
  readonly correlationId: string;
  readonly depth: number;
  readonly causedByJobId: string | null;
  readonly firings: readonly EventFiring[];
}

export interface EventDetail extends EventView {
  readonly data: unknown;
  readonly misses: readonly EventMiss[];
  /** Newest first, at most 50. */
  readonly replays: readonly EventReplay[];
}

export interface EventFilter {
  /** A whole name, or a prefix followed by `*`. */
  readonly name?: string;
  /** Inclusive. */
  readonly since?: Date;
  readonly correlationId?: string;
  readonly causedByJobId?: string;
}

/** A trigger that is not stored, with the fields that matter for events. */
export interface DraftTrigger {
  readonly label?: string;
  readonly eventName: string;
  readonly definitionKey?: string;
  readonly condition?: string | null;
  readonly payloadTemplate?: unknown;
  readonly dedupeKeyTemplate?: string | null;
  readonly dedupeWindowSeconds?: number;
}

/** The events and triggers to test: an example event or the newest stored ones; one trigger, a draft, or all. */
export interface TestRequest {
  readonly event?: NewEvent;
  readonly replay?: number;
  readonly triggerId?: string;
  readonly draft?: DraftTrigger;
}

export interface TriggerTest {
  readonly eventId: string | null;
  readonly eventName: string;
  readonly receivedAt: Date | null;
  readonly triggerId: string | null;
  readonly triggerLabel: string;
  readonly matched: boolean;
  readonly mismatch: "name" | "condition" | "disabled" | "expired" | null;
  readonly parts: readonly { readonly text: string; readonly holds: boolean; readonly detail: string | null }[];
  readonly verdict: "start" | "deduplicate" | "fail" | null;
  readonly payload: unknown;
  /** True if the payload was left out because the response would have been too large. */
  readonly payloadOmitted: boolean;
  readonly problems: readonly { readonly pointer: string; readonly code: string; readonly detail: string }[];
  readonly dedupe: { readonly key: string; readonly windowSeconds: number; readonly heldByJobId: string | null } | null;
}

export interface TriggerTests {
  readonly events: number;
  readonly considered: number;
  readonly matched: number;
  readonly wouldStart: number;
  readonly results: readonly TriggerTest[];
}
