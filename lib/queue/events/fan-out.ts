import type { TenantTransaction } from "@/lib/db";
import { Turns } from "@/lib/turns";
import type { EventReason, TenantScope } from "../types";
import type { OccurredEvent } from "./event-match.policy";
import { addReplaysSql, countRunsSql, finishEventsSql, insertFiringsSql } from "./events.sql";
import { type Listener, loadListeners } from "./listeners";
import { type EventPlan, type PlanLimits, planEvent, planWork } from "./plan-firings";
import { type StartedFiringRow, startFirings } from "./start-firings";

/** The bounds of one transaction. A single event may exceed them, because an event is never divided. */
export interface FanOutBudget {
  readonly firings: number;
  /** Characters of all payloads together. */
  readonly characters: number;
  /** Bytes of stored misses and failures. */
  readonly noteBytes: number;
  /** Processor time of this process for comparing events with triggers, in milliseconds. */
  readonly cpuMs: number;
}

/**
 * A request has its own connection, and other requests of its process must not shorten its batch, so processor
 * time is not bounded.
 */
const REQUEST: FanOutBudget = {
  firings: 5000,
  characters: 16 * 1024 * 1024,
  noteBytes: 1024 * 1024,
  cpuMs: Number.POSITIVE_INFINITY,
};
/** The most work of comparing events with triggers in one call, in the unit of `matchWork`: about 0.4 seconds. */
const WORK_MAX = 20_000_000;

/** The data of a job's event, filled in when it is compared. */
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
  /** The jobs that were made, in the order of the firings. */
  readonly jobIds: readonly string[];
}

/**
 * Compares stored pending events with the tenant's triggers, and stores what each of them starts: jobs, firings,
 * counts. All of it belongs to the caller's transaction.
 * An event that would make the transaction too large stays pending, and so do those after it. Returns the results of
 * the others, in their order.
 * `replayedAt`: the events were compared before, so their new firings get this instant and their counts are added.
 * @throws QueueError tenant-suspended
 */
export async function fanOut(
  tx: TenantTransaction,
  scope: TenantScope,
  {
    events,
    filledIn = new Map(),
    replayedAt,
    mayDefer = false,
    budget = REQUEST,
    ...limits
  }: {
    readonly events: readonly OccurredEvent[];
    readonly filledIn?: ReadonlyMap<string, FilledIn>;
    readonly replayedAt?: Date;
    /** May leave even the first event pending if it alone is too much work. For calls in a request. */
    readonly mayDefer?: boolean;
    readonly budget?: FanOutBudget;
  } & PlanLimits,
): Promise<FannedOut[]> {
  if (events.length === 0) return [];
  const listeners = await loadListeners(tx, [...new Set(events.map(({ name }) => name))]);
  const listenersOf = ({ name }: OccurredEvent) => listeners.get(name) ?? [];
  const plans = await withinBounds(events, { listenersOf, mayDefer, budget, limits });
  if (plans.length === 0) return [];
  const made = await startFirings(
    tx,
    scope,
    plans.flatMap(({ firings }) => firings),
  );
  const rows = replayedAt ? made.map((row) => ({ ...row, fire_at: replayedAt })) : made;
  if (rows.length > 0) await tx.run(insertFiringsSql, [tx.tenantId, JSON.stringify(rows)]);
  await countRuns(tx, rows);
  const jobIds = jobsByEvent(rows);
  const done = plans.map((plan) => ({
    eventId: plan.event.id,
    considered: plan.considered,
    matched: plan.firings.length,
    started: jobIds.get(plan.event.id)?.length ?? 0,
    reason: plan.reason,
    jobIds: jobIds.get(plan.event.id) ?? [],
  }));
  await finishEvents(tx, { plans, done, filledIn, isReplay: replayedAt !== undefined });
  return done;
}

async function withinBounds(
  events: readonly OccurredEvent[],
  {
    listenersOf,
    mayDefer,
    budget,
    limits,
  }: {
    readonly listenersOf: (event: OccurredEvent) => readonly Listener[];
    readonly mayDefer: boolean;
    readonly budget: FanOutBudget;
    readonly limits: PlanLimits;
  },
): Promise<EventPlan[]> {
  const turns = new Turns();
  const plans: EventPlan[] = [];
  const began = process.cpuUsage();
  const sum = { firings: 0, characters: 0, noteBytes: 0, work: 0 };
  for (const event of events) {
    await turns.next();
    const listeners = listenersOf(event);
    sum.work += planWork(event, listeners);
    if (sum.work > WORK_MAX && (mayDefer || plans.length > 0)) break;
    if (plans.length > 0 && cpuMsSince(began) > budget.cpuMs) break;
    const next = await planEvent(event, listeners, { ...limits, turns });
    sum.firings += next.firings.length;
    sum.characters += next.characters;
    sum.noteBytes += next.noteBytes;
    if (plans.length > 0 && BOUNDED.some((one) => sum[one] > budget[one])) break;
    plans.push(next);
  }
  return plans;
}

const BOUNDED = ["firings", "characters", "noteBytes"] as const satisfies readonly (keyof FanOutBudget)[];

function cpuMsSince(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}

function jobsByEvent(rows: readonly StartedFiringRow[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { event_id, outcome, job_id } of rows) {
    if (outcome !== "enqueued" || job_id === null) continue;
    const known = found.get(event_id);
    if (known) known.push(job_id);
    else found.set(event_id, [job_id]);
  }
  return found;
}

/**
 * Locks the triggers to count their runs. Call it last, so that publishers wait for each other as briefly as possible.
 */
export async function countRuns(tx: TenantTransaction, rows: readonly StartedFiringRow[]): Promise<void> {
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
    isReplay,
  }: {
    readonly plans: readonly EventPlan[];
    readonly done: readonly FannedOut[];
    readonly filledIn: ReadonlyMap<string, FilledIn>;
    readonly isReplay: boolean;
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
  await tx.run(isReplay ? addReplaysSql : finishEventsSql, [tx.tenantId, JSON.stringify(rows)]);
}
