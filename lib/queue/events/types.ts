/** Events and what they start. Client-safe: types only; reached through types.ts. */
import type { JobStatus } from "../states";
import type { FiringOutcome } from "../triggers/types";

export type EventSource = "api" | "app" | "job" | "scheduler";
export type EventReason = "no_trigger" | "no_match" | "loop" | "suspended" | "failed";

/** A named fact to be published. */
export interface NewEvent {
  readonly name: string;
  /** A JSON object; default {}. */
  readonly data?: unknown;
  /** The producer's own id: an event of the same id is stored once. */
  readonly producerId?: string;
  /** Default: the event's own id. The jobs that it starts go on under it. */
  readonly correlationId?: string;
  /** Default app. */
  readonly source?: EventSource;
  /** How many jobs that caused each other lie before it; default 0. */
  readonly depth?: number;
  readonly causedByJobId?: string;
}

export interface PublishedEvent {
  readonly id: string;
  readonly name: string;
  readonly producerId: string | null;
  /** There was one with this producer id already: it is the one that is told of. */
  readonly duplicate: boolean;
  readonly receivedAt: Date;
  /** pending: stored, to be looked at by the leading scheduler. */
  readonly status: "pending" | "done";
  readonly considered: number;
  readonly matched: number;
  readonly started: number;
  readonly reason: EventReason | null;
  /** The jobs that it made, in the order of the firings. */
  readonly jobIds: readonly string[];
}

/** What a replay of a stored event came to; earlier firings do not count. */
export type ReplayedEvent = Pick<PublishedEvent, "id" | "considered" | "matched" | "started" | "reason" | "jobIds">;

/** A replay of an event, as its page shows it. */
export interface EventReplay {
  readonly at: Date;
  readonly actorKind: "user" | "api_key" | "system";
  /** An email, or the name of an API key; null when that is gone. */
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
  /** Newest first, 50 at most. */
  readonly replays: readonly EventReplay[];
}

export interface EventFilter {
  /** A whole name, or its beginning followed by `*`. */
  readonly name?: string;
  /** Inclusive. */
  readonly since?: Date;
  readonly correlationId?: string;
  readonly causedByJobId?: string;
}

/** A trigger that is not stored, as far as an event is concerned. */
export interface DraftTrigger {
  readonly label?: string;
  readonly eventName: string;
  readonly definitionKey?: string;
  readonly condition?: string | null;
  readonly payloadTemplate?: unknown;
  readonly dedupeKeyTemplate?: string | null;
  readonly dedupeWindowSeconds?: number;
}

/** Which events to put against which triggers: a made-up one or the newest stored ones; one trigger, a draft, or all. */
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
  /** The answer would have been too large. */
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
