import type { Database, TenantTransaction } from "@/lib/db";
import { inTenant } from "../read/get-job";
import { PAGE_BYTES } from "../read/page-bytes";
import type { JobStatus } from "../states";
import type {
  EventDetail,
  EventFilter,
  EventFiring,
  EventMiss,
  EventReason,
  EventReplay,
  EventSource,
  EventView,
  FiringOutcome,
  TenantScope,
} from "../types";
import { type EventDriver, firingsOfEventsSql, getEventSql, listEventsSql, replaysOfEventSql } from "./events.sql";

/** The most firings per event in a list (LISTED_FIRINGS) and in the view of one event (SHOWN_FIRINGS). */
const LISTED_FIRINGS = 20;
const SHOWN_FIRINGS = 1000;

interface EventRow {
  readonly id: string;
  readonly name: string;
  readonly producer_id: string | null;
  readonly received_at: Date;
  readonly status: "pending" | "done";
  readonly considered_count: number;
  readonly matched_count: number;
  readonly started_count: number;
  readonly reason: EventReason | null;
  readonly source: EventSource;
  readonly correlation_id: string | null;
  readonly depth: number;
  readonly caused_by_job_id: string | null;
}

/**
 * Returns a page of the tenant's events, newest first, each with its firings. The page ends before the details of its
 * firings exceed 512 KiB, but has at least one event.
 */
export function listEvents(
  db: Database | TenantTransaction,
  scope: TenantScope,
  { filter, limit, afterId }: { readonly filter: EventFilter; readonly limit: number; readonly afterId?: string },
): Promise<{ readonly events: readonly EventView[]; readonly hasMore: boolean }> {
  return inTenant(db, scope, async (tx) => {
    const { driver, from, to } = rangeOf(filter);
    const rows = await tx.run<EventRow>(listEventsSql[driver], [
      scope.tenantId,
      from,
      to,
      filter.since ?? null,
      filter.correlation_id ?? null,
      filter.caused_by_job_id ?? null,
      afterId ?? null,
      limit + 1,
    ]);
    const shown = rows.slice(0, limit);
    const firings = await firingsOf(
      tx,
      shown.map(({ id }) => id),
      LISTED_FIRINGS,
    );
    const events = fitting(shown.map((row) => toView(row, firings)));
    return { events, hasMore: rows.length > events.length };
  });
}

function fitting(events: readonly EventView[]): readonly EventView[] {
  let bytes = 0;
  const end = events.findIndex((event) => {
    for (const { detail } of event.firings) bytes += Buffer.byteLength(detail ?? "");
    return bytes > PAGE_BYTES;
  });
  return end === -1 ? events : events.slice(0, Math.max(end, 1));
}

function rangeOf({ name, correlation_id: correlationId, caused_by_job_id: causedByJobId }: EventFilter): {
  readonly driver: EventDriver;
  readonly from: string | null;
  readonly to: string | null;
} {
  const prefix = name?.endsWith("*") ? name.slice(0, -1) : undefined;
  // Names are ASCII, so this name sorts after all names with the prefix.
  const to = prefix === undefined ? null : `${prefix}\u007f`;
  const range = { from: prefix ?? name ?? null, to };
  if (causedByJobId !== undefined) return { ...range, driver: "cause" };
  if (correlationId !== undefined) return { ...range, driver: "correlation" };
  if (name === undefined) return { ...range, driver: "none" };
  return { ...range, driver: prefix === undefined ? "name" : "prefix" };
}

/**
 * Returns an event with its data, its firings, and the triggers that did not match and why; null if the tenant
 * has no such event.
 */
export function getEvent(
  db: Database | TenantTransaction,
  scope: TenantScope,
  eventId: string,
): Promise<EventDetail | null> {
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<EventRow & { readonly data: unknown; readonly misses: readonly MissRow[] | null }>(
      getEventSql,
      [scope.tenantId, eventId],
    );
    if (!row) return null;
    const firings = await firingsOf(tx, [row.id], SHOWN_FIRINGS);
    const replays = await tx.run<ReplayRow>(replaysOfEventSql, [tx.tenantId, row.id]);
    return {
      ...toView(row, firings),
      data: row.data,
      misses: (row.misses ?? []).map(toMiss),
      replays: replays.map(({ reason, ...replay }) => ({ ...replay, detail: reason ?? "" })),
    };
  });
}

interface ReplayRow {
  readonly at: Date;
  readonly actor_kind: EventReplay["actor_kind"];
  readonly actor: string | null;
  readonly reason: string | null;
}

interface MissRow {
  readonly trigger_id: string;
  readonly label: string | null;
  readonly reason: EventMiss["reason"];
  readonly part: string | null;
  readonly detail: string | null;
}

const toMiss = ({ label, ...miss }: MissRow): EventMiss => ({ ...miss, trigger_label: label });

interface FiringRow {
  readonly id: string;
  readonly event_id: string;
  readonly trigger_id: string;
  readonly label: string;
  readonly definition_key: string;
  readonly outcome: FiringOutcome;
  readonly reason: string | null;
  readonly detail: string | null;
  readonly job_id: string | null;
  readonly job_status: JobStatus | null;
}

async function firingsOf(
  tx: TenantTransaction,
  eventIds: readonly string[],
  limit: number,
): Promise<Map<string, EventFiring[]>> {
  const found = new Map<string, EventFiring[]>(eventIds.map((id) => [id, []]));
  if (eventIds.length === 0) return found;
  for (const row of await tx.run<FiringRow>(firingsOfEventsSql, [tx.tenantId, eventIds, limit]))
    found.get(row.event_id)?.push(toFiring(row));
  return found;
}

const toFiring = (row: FiringRow): EventFiring => ({
  id: row.id,
  trigger_id: row.trigger_id,
  trigger_label: row.label,
  definition_key: row.definition_key,
  outcome: row.outcome,
  reason: row.reason,
  detail: row.detail,
  job_id: row.job_id,
  job_status: row.job_status,
});

function toView(row: EventRow, firings: ReadonlyMap<string, readonly EventFiring[]>): EventView {
  return {
    id: row.id,
    name: row.name,
    producer_id: row.producer_id,
    received_at: row.received_at,
    status: row.status,
    considered_count: row.considered_count,
    matched_count: row.matched_count,
    started_count: row.started_count,
    reason: row.reason,
    source: row.source,
    correlation_id: row.correlation_id ?? row.id,
    depth: row.depth,
    caused_by_job_id: row.caused_by_job_id,
    firings: firings.get(row.id) ?? [],
  };
}
