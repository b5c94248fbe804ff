import type { EventSource } from "../types";
import type { OccurredEvent } from "./event-match.policy";

/** The fields of an app.events row that triggers see. */
export interface StoredEventRow {
  readonly id: string;
  readonly name: string;
  readonly data: unknown;
  readonly received_at: Date;
  readonly producer_id: string | null;
  readonly correlation_id: string;
  readonly source: EventSource;
  /** The length of the chain of jobs and events that led to this one. */
  readonly depth: number;
}

/** Converts a stored event for the comparison with triggers. */
export const toOccurred = (row: StoredEventRow): OccurredEvent => ({
  id: row.id,
  name: row.name,
  data: row.data,
  receivedAt: row.received_at,
  producerId: row.producer_id,
  correlationId: row.correlation_id,
  source: row.source,
  depth: row.depth,
});
