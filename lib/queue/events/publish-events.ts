/**
 * Events: publishing them, comparing them with the tenant's triggers, and starting the jobs of those that match.
 * A producer's event with a producer id is stored once. An event and the jobs that it starts commit in one transaction;
 * events beyond the bounds of a transaction stay pending for the leading scheduler, so a large batch does not block
 * other tenants. Chains of events and jobs that cause each other end at a depth of 8.
 * Start with `publishEvent` here, then read `fanOut` (fan-out.ts), `planEvent` (plan-firings.ts) and `startFirings`
 * (start-firings.ts). `fanOutPending` is the scheduler's part; publish-watched.ts is for folder changes.
 */
import { type Database, type TenantTransaction, withTenant } from "@/lib/db";
import { mapInTurns } from "@/lib/turns";
import type { Actor, NewEvent, Published, TenantScope } from "../types";
import { EVENT_MAX_DEPTH, type OccurredEvent } from "./event-match.policy";
import { eventsOfProducerSql, insertEventsSql } from "./events.sql";
import { type FannedOut, fanOut } from "./fan-out";
import { checkNewEvent, refuseReserved } from "./new-event.policy";

export interface PublishOptions {
  /** Events at this depth start nothing; default 8. */
  readonly maxDepth?: number;
  /** Depths of the events for some triggers, by trigger id; for the others, the event's own depth applies. */
  readonly depths?: ReadonlyMap<string, number>;
  /** Returns an event's position in the request, as a JSON pointer. */
  readonly at?: (index: number) => string;
}

/**
 * Publishes an event: stores it, compares it with the tenant's triggers and enqueues their jobs, in one transaction.
 * Joins the caller's transaction if there is one.
 * An event whose producer id this producer has used is not stored again; the stored event is returned.
 * @throws QueueError invalid-value, payload-invalid, payload-too-large, tenant-suspended: nothing is stored then
 */
export async function publishEvent(
  db: Database | TenantTransaction,
  scope: TenantScope,
  event: NewEvent,
  options: PublishOptions = {},
): Promise<Published> {
  const [published] = await publishEvents(db, scope, [event], { at: () => "", ...options });
  if (!published) throw new Error("publishing answered nothing");
  return published;
}

/**
 * Publishes many events, all or none, in their order. If they would start very many jobs, the last of them are stored
 * as pending, and the leading scheduler continues with them within a second or so.
 */
export async function publishEvents(
  db: Database | TenantTransaction,
  scope: TenantScope,
  events: readonly NewEvent[],
  options: PublishOptions = {},
): Promise<Published[]> {
  const { maxDepth = EVENT_MAX_DEPTH, depths, at = (index: number) => `/events/${index}` } = options;
  await mapInTurns([...events.entries()], ([index, event]) => {
    checkNewEvent(event, at(index));
    refuseReserved(event, at(index));
  });
  if (events.length === 0) return [];
  const publish = async (tx: TenantTransaction): Promise<Published[]> => {
    const stored = await storeEvents(tx, scope, events);
    const fresh = stored.flatMap(({ occurred }) => occurred ?? []);
    const done = await fanOut(tx, scope, { events: fresh, maxDepth, depths, mayDefer: true });
    return publishedOf(tx, scope, { stored, done });
  };
  return "inTransaction" in db ? publish(db) : withTenant(db, scope.tenantId, publish);
}

interface Stored {
  readonly id: string;
  readonly event: NewEvent;
  /** Null if an event with the same producer id exists. */
  readonly occurred: OccurredEvent | null;
}

interface InsertedRow {
  readonly id: string;
  readonly received_at: Date | null;
  readonly correlation_id: string | null;
}

async function storeEvents(
  tx: TenantTransaction,
  { actor }: TenantScope,
  events: readonly NewEvent[],
): Promise<Stored[]> {
  // The data as it will be stored: a Date becomes its ISO string.
  const asked = await mapInTurns(events, (event) => ({
    ...event,
    data: JSON.parse(JSON.stringify(event.data ?? {})) as unknown,
  }));
  const items = await mapInTurns(asked, (event) => JSON.stringify(toItem(event)));
  const rows = await tx.run<InsertedRow>(insertEventsSql, [tx.tenantId, `[${items.join(",")}]`, actor.kind, actor.id]);
  return asked.map((event, index) => {
    const row = rows[index];
    if (!row) throw new Error("an event was neither stored nor found");
    const { id, received_at, correlation_id } = row;
    if (received_at === null || correlation_id === null) return { id, event, occurred: null };
    return { id, event, occurred: occurredOf(event, { id, receivedAt: received_at, correlationId: correlation_id }) };
  });
}

const toItem = (event: NewEvent) => ({
  name: event.name,
  producer_id: event.producerId,
  data: event.data,
  source: event.source ?? "app",
  correlation_id: event.correlationId,
  depth: event.depth ?? 0,
  caused_by_job_id: event.causedByJobId,
});

function occurredOf(
  event: NewEvent,
  stored: Pick<OccurredEvent, "id" | "receivedAt" | "correlationId">,
): OccurredEvent {
  return {
    ...stored,
    name: event.name,
    data: event.data,
    producerId: event.producerId ?? null,
    source: event.source ?? "app",
    depth: event.depth ?? 0,
  };
}

async function publishedOf(
  tx: TenantTransaction,
  { actor }: TenantScope,
  { stored, done }: { readonly stored: readonly Stored[]; readonly done: readonly FannedOut[] },
): Promise<Published[]> {
  const results = new Map(done.map((one) => [one.eventId, one]));
  const earlier = await earlierOnes(tx, actor, stored);
  return stored.map(({ event, occurred }) => {
    if (!occurred) {
      const known = earlier.get(event.producerId ?? "");
      if (!known) throw new Error("an event was neither stored nor found");
      return known;
    }
    const result = results.get(occurred.id);
    const { considered = 0, matched = 0, started = 0, reason = null, jobIds = [] } = result ?? {};
    const { id, name, producerId, receivedAt } = occurred;
    const status = result ? "done" : "pending";
    return {
      id,
      name,
      producer_id: producerId,
      duplicate: false,
      received_at: receivedAt.toISOString(),
      status,
      considered_count: considered,
      matched_count: matched,
      started_count: started,
      reason,
      job_ids: jobIds,
    };
  });
}

/** Stored events whose producer ids were used again, in their current state. */
async function earlierOnes(
  tx: TenantTransaction,
  actor: Actor,
  stored: readonly Stored[],
): Promise<Map<string, Published>> {
  const ids = stored.flatMap(({ event, occurred }) => (occurred ? [] : (event.producerId ?? [])));
  if (ids.length === 0) return new Map();
  const rows = await tx.run<Omit<Published, "duplicate"> & { readonly producer_id: string }>(eventsOfProducerSql, [
    tx.tenantId,
    ids,
    actor.kind,
    actor.id,
  ]);
  return new Map(rows.map((row) => [row.producer_id, { ...row, duplicate: true }]));
}
