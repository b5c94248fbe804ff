import type { TenantTransaction } from "@/lib/db";
import type { OccurredEvent } from "../../policy/event-match";
import { countRunsSql, finishEventsSql, insertFiringsSql } from "../../sql/events";
import type { EventReason, TenantScope } from "../../types";
import { loadListeners } from "./listeners";
import { type EventPlan, planEvent } from "./plan-firings";
import { type FiringRow, startFirings } from "./start-firings";

/** What one transaction starts at most, unless a single event asks for more. */
const FIRINGS_MAX = 5000;
const CHARACTERS_MAX = 16 * 1024 * 1024;
/** Events put together with triggers, whether they match or not: about half a second of work. */
const PAIRS_MAX = 100_000;

/** What is filled in of an event of a job when it is looked at. */
export interface FilledIn {
  readonly data: unknown;
  readonly correlationId: string;
  readonly depth: number;
}

export interface FannedOut {
  readonly eventId: string;
  readonly considered: number;
  readonly matched: number;
  readonly started: number;
  readonly reason: EventReason | null;
}

/**
 * Compares stored pending events with the tenant's triggers, and writes what each of them starts: jobs, firings, counts.
 * An event that would make the transaction too large stays pending, and so do those after it; the answer tells of the
 * others, in their order. All of it belongs to the transaction of the caller.
 * @throws QueueError tenant-suspended
 */
export async function fanOut(
  tx: TenantTransaction,
  scope: TenantScope,
  {
    events,
    filledIn = new Map(),
    maxDepth,
  }: {
    readonly events: readonly OccurredEvent[];
    readonly filledIn?: ReadonlyMap<string, FilledIn>;
    readonly maxDepth: number;
  },
): Promise<FannedOut[]> {
  if (events.length === 0) return [];
  const listeners = await loadListeners(tx, [...new Set(events.map(({ name }) => name))]);
  const plans = withinBounds(events, (event) => planEvent(event, listeners.get(event.name) ?? [], maxDepth));
  const rows = await startFirings(
    tx,
    scope,
    plans.flatMap(({ firings }) => firings),
  );
  if (rows.length > 0) await tx.run(insertFiringsSql, [tx.tenantId, JSON.stringify(rows)]);
  await countRuns(tx, rows);
  const started = countBy(rows.filter(({ outcome }) => outcome === "enqueued"));
  const done = plans.map((plan) => ({
    eventId: plan.event.id,
    considered: plan.considered,
    matched: plan.firings.length,
    started: started.get(plan.event.id) ?? 0,
    reason: plan.reason,
  }));
  await finishEvents(tx, { plans, done, filledIn });
  return done;
}

function withinBounds(events: readonly OccurredEvent[], plan: (event: OccurredEvent) => EventPlan): EventPlan[] {
  const plans: EventPlan[] = [];
  let firings = 0;
  let characters = 0;
  let pairs = 0;
  for (const event of events) {
    if (pairs > PAIRS_MAX) break;
    const next = plan(event);
    pairs += next.considered;
    firings += next.firings.length;
    characters += next.characters;
    if (plans.length > 0 && (firings > FIRINGS_MAX || characters > CHARACTERS_MAX)) break;
    plans.push(next);
  }
  return plans;
}

function countBy(rows: readonly FiringRow[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { event_id } of rows) counts.set(event_id, (counts.get(event_id) ?? 0) + 1);
  return counts;
}

/** Last of what locks triggers, so that publishers wait for each other as briefly as can be. */
async function countRuns(tx: TenantTransaction, rows: readonly FiringRow[]): Promise<void> {
  const runs = new Map<string, number>();
  for (const { trigger_id, outcome } of rows) {
    if (outcome === "enqueued") runs.set(trigger_id, (runs.get(trigger_id) ?? 0) + 1);
  }
  if (runs.size > 0) await tx.run(countRunsSql, [tx.tenantId, [...runs.keys()], [...runs.values()]]);
}

async function finishEvents(
  tx: TenantTransaction,
  {
    plans,
    done,
    filledIn,
  }: {
    readonly plans: readonly EventPlan[];
    readonly done: readonly FannedOut[];
    readonly filledIn: ReadonlyMap<string, FilledIn>;
  },
): Promise<void> {
  const rows = done.map(({ eventId, considered, matched, started, reason }, index) => {
    const filled = filledIn.get(eventId);
    const misses = plans[index]?.misses ?? [];
    return {
      id: eventId,
      considered,
      matched,
      started,
      reason,
      misses: misses.length === 0 ? null : misses,
      ...(filled ? { data: filled.data, correlation_id: filled.correlationId, depth: filled.depth } : {}),
    };
  });
  await tx.run(finishEventsSql, [tx.tenantId, JSON.stringify(rows)]);
}
