import type { TenantTransaction } from "@/lib/db";
import { type CompiledListener, compileListener } from "../../policy/event-match";
import { listenersSql, lockListenersSql, tryListenersSql } from "../../sql/events";
import type { Problem } from "../../types";

interface ListenerRow {
  readonly id: string;
  readonly version: number;
  readonly label: string;
  readonly event_name: string;
  readonly condition: string | null;
  readonly payload_template: unknown;
  readonly dedupe_key_template: string | null;
  readonly dedupe_window_seconds: number;
  readonly queue: string | null;
  readonly priority: number | null;
  readonly overlap_policy: "allow" | "skip" | "queue_one";
  readonly max_runs: number | null;
  readonly run_count: number;
  readonly is_expired: boolean;
  readonly is_listening: boolean;
  readonly definition_key: string;
}

/** A trigger that may listen to an event, understood as far as it can be. */
export interface Listener {
  readonly id: string;
  readonly label: string;
  readonly eventName: string;
  readonly definitionKey: string;
  readonly queue: string | null;
  readonly priority: number | null;
  readonly overlap: ListenerRow["overlap_policy"];
  /** Jobs that it may still make; null: any number. */
  readonly runsLeft: number | null;
  readonly isExpired: boolean;
  readonly isListening: boolean;
  readonly understood: { readonly listener: CompiledListener } | { readonly problems: readonly Problem[] };
}

/** By id and version of a trigger: what it says does not change without its version. */
const compiled = new Map<string, Listener["understood"]>();
const COMPILED_MAX = 5000;

/**
 * The tenant's triggers that listen to these names now, by name. When any of them may make only so many jobs, all are
 * locked, so that of two publishers at once the second sees what the first made.
 */
export async function loadListeners(
  tx: TenantTransaction,
  names: readonly string[],
): Promise<ReadonlyMap<string, readonly Listener[]>> {
  const parameters = [tx.tenantId, names];
  const seen = await tx.run<ListenerRow>(listenersSql, parameters);
  const rows = seen.some(isBounded) ? await tx.run<ListenerRow>(lockListenersSql, parameters) : seen;
  const byName = new Map<string, Listener[]>(names.map((name) => [name, []]));
  for (const row of rows) byName.get(row.event_name)?.push(toListener(row));
  return byName;
}

const isBounded = (row: ListenerRow): boolean => row.max_runs !== null || row.overlap_policy !== "allow";

/** One event trigger of the tenant whether it listens or not, or all that listen. */
export async function listenersToTry(
  tx: TenantTransaction,
  { triggerId, limit }: { readonly triggerId: string | null; readonly limit: number },
): Promise<readonly Listener[]> {
  return (await tx.run<ListenerRow>(tryListenersSql, [tx.tenantId, triggerId, limit])).map(toListener);
}

function toListener(row: ListenerRow): Listener {
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
    understood: understand(row),
  };
}

function understand(row: ListenerRow): Listener["understood"] {
  const key = `${row.id}:${row.version}`;
  const known = compiled.get(key);
  if (known) return known;
  const understood = compileListener({
    id: row.id,
    label: row.label,
    condition: row.condition,
    payloadTemplate: row.payload_template,
    dedupeKeyTemplate: row.dedupe_key_template,
    dedupeWindowSeconds: row.dedupe_window_seconds,
  });
  const [oldest] = compiled.keys();
  if (compiled.size >= COMPILED_MAX && oldest !== undefined) compiled.delete(oldest);
  compiled.set(key, understood);
  return understood;
}
