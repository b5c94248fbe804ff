import type { TenantTransaction } from "@/lib/db";
import { Turns } from "@/lib/turns";
import type { NewEvent, TenantScope } from "../types";
import { EVENT_MAX_DEPTH } from "./event-match.policy";
import { countRuns } from "./fan-out";
import { boundStatementsSql, endHeldSql, loopDepthsSql, takeHeldSql, unboundStatementsSql } from "./held-firings.sql";
import { loadListeners } from "./listeners";
import { planEvent } from "./plan-firings";
import { publishEvent } from "./publish-events";
import { startFirings } from "./start-firings";
import { type StoredEventRow, toOccurred } from "./stored-event";

/** The most held firings that one change releases; the next change releases more. */
const RELEASED_MAX = 100;

interface Watched {
  /** An event about `data.provider_id`. */
  readonly event: NewEvent;
  /** Milliseconds since the beginning of the last scan that did not see the change. */
  readonly sinceMs: number;
  /** Default 8. */
  readonly maxDepth?: number | undefined;
}

interface DepthRow {
  readonly trigger_id: string;
  readonly depth: number;
}

/** A held firing and its event. */
interface HeldRow extends Omit<StoredEventRow, "depth"> {
  readonly trigger_id: string;
  readonly event_id: string;
}

/**
 * Publishes a change of a folder. A job or something outside the queue may have made the change. For each trigger, the
 * change counts as made by the deepest of its own jobs that ran since the last scan, so that a loop ends at `maxDepth`.
 * If none ran, it counts as made from outside.
 * At `maxDepth` no change is lost: the firing is held (`loop_suspected`) until the next change that counts as made from
 * outside, and its job starts then. Returns the ids of the triggers with a held firing.
 * @throws DatabaseError timeout if finding those jobs takes longer than two seconds
 */
export async function publishWatched(
  tx: TenantTransaction,
  scope: TenantScope,
  { event, sinceMs, maxDepth = EVENT_MAX_DEPTH }: Watched,
): Promise<readonly string[]> {
  const rows = await findDepths(tx, event.name, sinceMs);
  const depths = new Map(rows.map(({ trigger_id, depth }) => [trigger_id, depth]));
  await releaseHeld(tx, scope, { event, busy: [...depths.keys()], maxDepth });
  await publishEvent(tx, scope, event, { maxDepth, depths });
  return rows.flatMap(({ trigger_id, depth }) => (depth >= maxDepth ? [trigger_id] : []));
}

async function findDepths(tx: TenantTransaction, eventName: string, sinceMs: number): Promise<readonly DepthRow[]> {
  const [{ before } = { before: "0" }] = await tx.run<{ before: string }>(boundStatementsSql);
  const rows = await tx.run<DepthRow>(loopDepthsSql, [tx.tenantId, eventName, sinceMs]);
  await tx.run(unboundStatementsSql, [before]);
  return rows;
}

/** Starts the jobs of held firings, except those of triggers whose own jobs ran. */
async function releaseHeld(
  tx: TenantTransaction,
  scope: TenantScope,
  { event, busy, maxDepth }: { readonly event: NewEvent; readonly busy: readonly string[]; readonly maxDepth: number },
): Promise<void> {
  const { provider_id } = (event.data ?? {}) as { readonly provider_id?: unknown };
  const held = await tx.run<HeldRow>(takeHeldSql, [tx.tenantId, event.name, provider_id, busy, RELEASED_MAX]);
  if (held.length === 0) return;
  const listeners = (await loadListeners(tx, [event.name])).get(event.name) ?? [];
  const turns = new Turns();
  const planned = [];
  for (const row of held) {
    const own = listeners.filter(({ id }) => id === row.trigger_id);
    const event = toOccurred({ ...row, id: row.event_id, depth: 0 });
    const [firing] = (await planEvent(event, own, { maxDepth, turns })).firings;
    if (firing) planned.push({ id: row.id, firing });
  }
  const rows = await startFirings(
    tx,
    scope,
    planned.map(({ firing }) => firing),
  );
  await countRuns(tx, rows);
  const ids = new Set(planned.map(({ id }) => id));
  const unmatched = held.filter(({ id }) => !ids.has(id));
  const ends = [
    ...planned.map(({ id }, index) => ({ ...rows[index], id })),
    // The trigger was edited after the firing was held.
    ...unmatched.map(({ id }) => ({ id, outcome: "skipped", reason: "no_match", detail: null, job_id: null })),
  ];
  await tx.run(endHeldSql, [tx.tenantId, JSON.stringify(ends)]);
}
