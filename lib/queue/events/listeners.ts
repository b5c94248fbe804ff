import type { TenantTransaction } from "@/lib/db";
import { listenersSql, lockListenersSql, tryListenersSql } from "./events.sql";
import { type Understood, understandListeners } from "./understood-listeners";

interface ListenerRow {
  readonly id: string;
  readonly version: number;
  readonly label: string;
  readonly event_name: string;
  readonly queue: string | null;
  readonly priority: number | null;
  readonly overlap_policy: "allow" | "skip" | "queue_one";
  readonly max_runs: number | null;
  readonly run_count: number;
  readonly is_expired: boolean;
  readonly is_listening: boolean;
  readonly definition_key: string;
}

/** A trigger that may listen to an event, with its compiled texts. */
export interface Listener {
  readonly id: string;
  readonly label: string;
  readonly eventName: string;
  readonly definitionKey: string;
  readonly queue: string | null;
  readonly priority: number | null;
  readonly overlap: ListenerRow["overlap_policy"];
  /** The jobs that it may still make; null = any number. */
  readonly runsLeft: number | null;
  readonly isExpired: boolean;
  readonly isListening: boolean;
  readonly understood: Understood;
}

/**
 * Returns the tenant's triggers that listen to these names, by name. If any of them limits the jobs that it may make,
 * all are locked, so that of two concurrent publishers the second sees what the first made.
 */
export async function loadListeners(
  tx: TenantTransaction,
  names: readonly string[],
): Promise<ReadonlyMap<string, readonly Listener[]>> {
  const parameters = [tx.tenantId, names];
  const read = async () => {
    const seen = await tx.run<ListenerRow>(listenersSql, parameters);
    return seen.some(isBounded) ? await tx.run<ListenerRow>(lockListenersSql, parameters) : seen;
  };
  const byName = new Map<string, Listener[]>(names.map((name) => [name, []]));
  for (const listener of await toListeners(tx, read)) byName.get(listener.eventName)?.push(listener);
  return byName;
}

const isBounded = (row: ListenerRow): boolean => row.max_runs !== null || row.overlap_policy !== "allow";

/** Returns one event trigger of the tenant, enabled or not, or all that listen. */
export async function listenersToTry(
  tx: TenantTransaction,
  { triggerId, limit }: { readonly triggerId: string | null; readonly limit: number },
): Promise<readonly Listener[]> {
  return toListeners(tx, () => tx.run<ListenerRow>(tryListenersSql, [tx.tenantId, triggerId, limit]));
}

const MOST_READS = 5;

/** Reads again if a trigger was changed between the query of its row and the query of its texts. */
async function toListeners(tx: TenantTransaction, read: () => Promise<ListenerRow[]>): Promise<Listener[]> {
  for (let reads = 1; ; reads += 1) {
    const rows = await read();
    const texts = await understandListeners(tx, rows);
    if (reads < MOST_READS && rows.some(({ id, version }) => texts.get(id)?.version !== version)) continue;
    return rows.flatMap((row) => {
      const text = texts.get(row.id);
      return text ? [toListener(row, text.understood)] : [];
    });
  }
}

function toListener(row: ListenerRow, understood: Understood): Listener {
  return {
    id: row.id,
    label: row.label,
    eventName: row.event_name,
    definitionKey: row.definition_key,
    queue: row.queue,
    priority: row.priority,
    overlap: row.overlap_policy,
    runsLeft: row.max_runs === null ? null : Math.max(0, row.max_runs - row.run_count),
    isExpired: row.is_expired,
    isListening: row.is_listening,
    understood,
  };
}
