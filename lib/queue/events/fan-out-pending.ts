import { type Database, DatabaseError, type Runner, type TenantTransaction, withTenant } from "@/lib/db";
import { boundWaitsSql } from "../schedules/fire-due-schedules.sql";
import { SYSTEM } from "../system-actor";
import type { TenantScope } from "../types";
import { EVENT_MAX_DEPTH } from "./event-match.policy";
import { describeEndsSql, finishEventsSql, pendingTenantsSql, recordFailureSql, takePendingSql } from "./events.sql";
import { type FanOutBudget, type FilledIn, fanOut } from "./fan-out";
import { type StoredEventRow, toOccurred } from "./stored-event";

/** The most events of one transaction. */
const BATCH = 100;
/**
 * The budget of one transaction, because all tenants share one connection of the scheduler. It is about 0.2 seconds of
 * processor time here and as much in the database.
 */
const BUDGET: FanOutBudget = { firings: 500, characters: 2 * 1024 * 1024, noteBytes: 512 * 1024, cpuMs: 200 };
/** The most transactions of one call when events are tried one by one. */
const ALONE_MAX = 10;
/** Sorts before every id. */
const START = "00000000-0000-0000-0000-000000000000";
const MAX_TRIES = 5;
/**
 * A connection that is lost after this time was most likely closed by PostgreSQL, which allows 15 s without a statement
 * in a transaction. It does not count as an outage.
 */
const LONG_MS = 10_000;
/** Larger job results are left out of their events. */
const RESULT_MAX_BYTES = 16 * 1024;

interface PendingRow extends Omit<StoredEventRow, "data" | "correlation_id"> {
  readonly data: { readonly job_id?: unknown; readonly run_no?: unknown };
  readonly correlation_id: string | null;
  readonly caused_by_job_id: string | null;
  readonly tenant_status: string;
}

/**
 * Returns at most `limit` tenants with pending events, in the order of their ids, starting after `after`. Fewer = no
 * tenants are left. `db` is the scheduler's pool.
 */
export async function tenantsWithPendingEvents(
  db: Runner,
  { after = START, limit = 50 }: { readonly after?: string | undefined; readonly limit?: number } = {},
): Promise<string[]> {
  const rows = await db.run<{ tenant_id: string }>(pendingTenantsSql, [after, limit]);
  return rows.map((row) => row.tenant_id);
}

/**
 * Compares some of a tenant's pending events with its triggers, oldest first: events of ended jobs, and events that a
 * large batch left pending. `db` is the web role's pool.
 * One transaction takes at most 100 events, 500 firings, 2 MiB of payloads, 512 KiB of misses and failures, and 200 ms
 * of comparing; an event that alone exceeds these limits is not divided. The other events stay pending for the next
 * call, so that tenants take turns.
 * Returns the number of events done, and the events that failed. A failed event is tried again later and given up
 * after a few tries, so that it does not delay others. An event that keeps the transaction longer than PostgreSQL
 * allows has failed.
 * Safe to run twice at once, because an event belongs to the transaction that locked it.
 */
export async function fanOutPending(
  db: Database,
  tenantId: string,
  { maxDepth = EVENT_MAX_DEPTH, longMs = LONG_MS }: { readonly maxDepth?: number; readonly longMs?: number } = {},
): Promise<{
  readonly done: number;
  readonly failed: readonly { readonly eventId: string; readonly error: unknown }[];
}> {
  const scope = { tenantId, actor: SYSTEM };
  const take = (only: string | null) =>
    withTenant(db, tenantId, async (tx) => {
      await tx.run(boundWaitsSql);
      return goOn(tx, scope, { rows: await pending(tx, only), maxDepth });
    });
  let began = performance.now();
  const tookLong = () => performance.now() - began > longMs;
  try {
    return { done: (await take(null)).done, failed: [] };
  } catch (error) {
    if ((isOutage(error) && !tookLong()) || isLocked(error)) throw error;
  }
  // One of the events fails, so each is tried in its own transaction.
  const ids = await withTenant(db, tenantId, (tx) => pending(tx, null));
  const failed: { readonly eventId: string; readonly error: unknown }[] = [];
  let [done, firings] = [0, 0];
  for (const { id } of ids.slice(0, ALONE_MAX)) {
    if (firings >= BUDGET.firings) break;
    began = performance.now();
    try {
      const part = await take(id);
      done += part.done;
      firings += part.firings;
    } catch (error) {
      if ((isOutage(error) && !tookLong()) || isLocked(error)) throw error;
      failed.push({ eventId: id, error });
      await withTenant(db, tenantId, (tx) => tx.run(recordFailureSql, [tenantId, id, MAX_TRIES]));
      // The others wait for the next turn, because each may take as long.
      if (isTimeout(error) || isOutage(error)) break;
    }
  }
  return { done, failed };
}

const isOutage = (error: unknown): boolean =>
  error instanceof DatabaseError && (error.kind === "unavailable" || error.connectionLost);
const isTimeout = (error: unknown): boolean => error instanceof DatabaseError && error.kind === "timeout";
/** Another transaction holds a lock that is needed, so the event itself has not failed. */
const isLocked = (error: unknown): boolean => error instanceof DatabaseError && error.sqlState === "55P03";

const pending = (tx: TenantTransaction, only: string | null): Promise<PendingRow[]> =>
  tx.run<PendingRow>(takePendingSql, [tx.tenantId, BATCH, only]);

async function goOn(
  tx: TenantTransaction,
  scope: TenantScope,
  { rows, maxDepth }: { readonly rows: readonly PendingRow[]; readonly maxDepth: number },
): Promise<{ readonly done: number; readonly firings: number }> {
  if (rows.length === 0) return { done: 0, firings: 0 };
  const filledIn = await describeEnds(tx, rows);
  if (rows[0]?.tenant_status !== "active") return { done: await setAside(tx, rows, filledIn), firings: 0 };
  const events = rows.map((row) => toOccurred(withEnd(row, filledIn.get(row.id))));
  const done = await fanOut(tx, scope, { events, filledIn, maxDepth, budget: BUDGET });
  return { done: done.length, firings: done.reduce((sum, { matched }) => sum + matched, 0) };
}

/** A suspended tenant's events start nothing, also after the tenant is active again. */
async function setAside(
  tx: TenantTransaction,
  rows: readonly PendingRow[],
  filledIn: ReadonlyMap<string, FilledIn>,
): Promise<number> {
  const items = rows.map(({ id }) => {
    const { data, correlationId, depth } = filledIn.get(id) ?? {};
    const filled = { data, correlation_id: correlationId, depth };
    return { id, considered: 0, matched: 0, started: 0, reason: "suspended", misses: null, ...filled };
  });
  await tx.run(finishEventsSql, [tx.tenantId, JSON.stringify(items)]);
  return items.length;
}

const withEnd = (row: PendingRow, filled: FilledIn | undefined): StoredEventRow => ({
  ...row,
  data: filled?.data ?? row.data,
  correlation_id: filled?.correlationId ?? row.correlation_id ?? row.caused_by_job_id ?? row.id,
  depth: filled?.depth ?? row.depth,
});

interface EndRow {
  readonly event_id: string;
  readonly correlation_id: string | null;
  readonly chain_depth: number;
  readonly data: unknown;
}

/** Reads the data of job events. The statement that ends a job stores only its ids, to stay fast. */
async function describeEnds(tx: TenantTransaction, rows: readonly PendingRow[]): Promise<Map<string, FilledIn>> {
  const bare = rows.filter(({ correlation_id, caused_by_job_id }) => correlation_id === null && caused_by_job_id);
  if (bare.length === 0) return new Map();
  const found = await tx.run<EndRow>(describeEndsSql, [
    tx.tenantId,
    bare.map(({ id }) => id),
    bare.map(({ caused_by_job_id }) => caused_by_job_id),
    bare.map(({ data }) => Number(data.run_no)),
    RESULT_MAX_BYTES,
  ]);
  const causes = new Map(bare.map(({ id, caused_by_job_id }) => [id, caused_by_job_id]));
  return new Map(
    found.map(({ event_id, correlation_id, chain_depth, data }) => [
      event_id,
      { data, correlationId: correlation_id ?? causes.get(event_id) ?? event_id, depth: chain_depth },
    ]),
  );
}
