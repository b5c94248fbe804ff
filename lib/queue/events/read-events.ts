import type { Database, TenantTransaction } from "@/lib/db";
import { inTenant } from "../read/get-job";
import { PAGE_BYTES } from "../read/page-bytes";
import type { Event, EventFilter, EventFiring, EventMiss, EventReplay, EventRow, TenantScope } from "../types";
import { type EventDriver, firingsOfEventsSql, getEventSql, listEventsSql, replaysOfEventSql } from "./events.sql";

/** The most firings per event in a list (LISTED_FIRINGS) and in the view of one event (SHOWN_FIRINGS). */
const LISTED_FIRINGS = 20;
const SHOWN_FIRINGS = 1000;

type StoredRow = Omit<EventRow, "firings">;
type StoredEvent = StoredRow & Pick<Event, "data"> & { readonly misses: readonly EventMiss[] | null };

/**
 * Returns a page of the tenant's events, newest first, each with its firings. The page ends before the details of its
 * firings exceed 512 KiB, but has at least one event.
 */
export function listEvents(
  db: Database | TenantTransaction,
  scope: TenantScope,
  { filter, limit, afterId }: { readonly filter: EventFilter; readonly limit: number; readonly afterId?: string },
): Promise<{ readonly events: readonly EventRow[]; readonly hasMore: boolean }> {
  return inTenant(db, scope, async (tx) => {
    const { driver, from, to } = rangeOf(filter);
    const rows = await tx.run<StoredRow>(listEventsSql[driver], [
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
    const events = fitting(shown.map((row) => ({ ...row, firings: firings.get(row.id) ?? [] })));
    return { events, hasMore: rows.length > events.length };
  });
}

function fitting(events: readonly EventRow[]): readonly EventRow[] {
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
export function getEvent(db: Database | TenantTransaction, scope: TenantScope, eventId: string): Promise<Event | null> {
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<StoredEvent>(getEventSql, [scope.tenantId, eventId]);
    if (!row) return null;
    const firings = await firingsOf(tx, [row.id], SHOWN_FIRINGS);
    const replays = await tx.run<EventReplay>(replaysOfEventSql, [tx.tenantId, row.id]);
    return { ...row, firings: firings.get(row.id) ?? [], misses: row.misses ?? [], replays };
  });
}

type FiringRow = EventFiring & { readonly event_id: string };

async function firingsOf(
  tx: TenantTransaction,
  eventIds: readonly string[],
  limit: number,
): Promise<Map<string, EventFiring[]>> {
  const found = new Map<string, EventFiring[]>(eventIds.map((id) => [id, []]));
  if (eventIds.length === 0) return found;
  for (const { event_id, ...firing } of await tx.run<FiringRow>(firingsOfEventsSql, [tx.tenantId, eventIds, limit]))
    found.get(event_id)?.push(firing);
  return found;
}
