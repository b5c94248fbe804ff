/**
 * Schedules: the leader fires triggers whose instant is due, and enqueues their jobs.
 * An instant fires at most once: its firing, its job and the next due time commit in one transaction. Missed
 * instants are made up for or skipped, as the trigger's `catch_up` says. A broken trigger does not stop others,
 * and tenants take turns.
 * Start with `fireDueSchedules`. `take-due-triggers.ts` locks the due rows, `plan-firing.policy.ts` decides what
 * each instant becomes, `store-firings.ts` writes it, and `rules/` computes instants from cron expressions,
 * intervals and time zones.
 */
import type { Runner, Transaction } from "@/lib/db";
import { Turns } from "@/lib/turns";
import { announceEvent } from "../events/announce-event";
import { notifyEnqueued } from "../notify";
import { SYSTEM } from "../system-actor";
import {
  compileTriggerTemplate,
  renderTriggerTemplate,
  type ScheduleContext,
} from "../triggers/trigger-template.policy";
import type { DueDecision, DueInstant } from "../types";
import { boundWaitsSql, dueTriggerSql, liveJobsOfTriggersSql, nextDueSql } from "./fire-due-schedules.sql";
import {
  advance,
  type DueTrigger,
  draftFirings,
  giveUp,
  type LiveJob,
  type Occasion,
  skipReason,
} from "./plan-firing.policy";
import { decideDue, instantChance, readSchedule } from "./rules";
import { type BrokenTrigger, type FiringTurn, storeFirings } from "./store-firings";
import { type DueRow, takeDueTriggers } from "./take-due-triggers";

export interface FiredSchedules {
  /** Triggers that had their turn. */
  readonly triggers: number;
  readonly jobs: number;
  readonly skipped: number;
  /** Triggers that became broken, or whose reason changed. */
  readonly broken: readonly BrokenTrigger[];
  /** The tenant after which the next turn begins; undefined = with the first tenant. */
  readonly after: string | undefined;
}

/** The number of its newest jobs in which a trigger looks for live jobs. */
const OVERLAP_LOOKS_AT = 50;
/**
 * After this many firings a transaction takes no further trigger, so that one with many missed instants
 * does not prolong it.
 */
const ROWS_MAX = 2000;
/**
 * After this many payload bytes a transaction takes no further trigger. Also bounds what one trigger makes
 * up for at once.
 */
const PAYLOAD_BYTES = 1024 * 1024;

/**
 * Fires schedules that are due by the database's clock. Each instant gets a firing and its job in the transaction that
 * also stores when the trigger is due next. Call it in a transaction of the leader, after `keepTerm`.
 * The rows are locked and read here, so an edit, a switch or a deletion that was committed before takes
 * effect. A trigger that cannot fire is marked broken with its reason, publishes the event
 * `trigger.broken`, and stops no other trigger.
 *
 * Tenants take turns, beginning with the one after `after`; pass the `after` of the result to the next call.
 * While other tenants have triggers left, a tenant exceeds its share of the transaction's rows and payloads by
 * one trigger at most.
 */
export async function fireDueSchedules(
  tx: Transaction,
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
): Promise<FiredSchedules> {
  await tx.run(boundWaitsSql);
  const due = await takeDueTriggers(tx, { limit, after });
  const { tenants, ...fired } = await fireRows(tx, due.rows);
  return { ...fired, after: due.nextAfter(tenants) };
}

/**
 * Fires the due instants of one schedule, like `fireDueSchedules`. An edit calls it before it changes anything, because
 * the edit replaces the stored instants. The caller holds the lock on the trigger's row.
 * Returns true if nothing is left that is due. Returns false if other transactions changed something meanwhile and the
 * instants are still due.
 */
export async function fireDueTrigger(
  tx: Transaction,
  { tenantId, triggerId }: { readonly tenantId: string; readonly triggerId: string },
): Promise<boolean> {
  const due = () => tx.run<DueRow>(dueTriggerSql, [tenantId, triggerId]);
  for (let tries = 0; tries < 3; tries += 1) {
    const rows = await due();
    if (rows.length === 0) return true;
    await fireRows(tx, rows);
  }
  return (await due()).length === 0;
}

interface FiredRows extends Omit<FiredSchedules, "after"> {
  /** Tenants of the triggers that had their turn, in that order. */
  readonly tenants: readonly string[];
}

async function fireRows(tx: Transaction, rows: readonly DueRow[]): Promise<FiredRows> {
  if (rows.length === 0) return { triggers: 0, jobs: 0, skipped: 0, broken: [], tenants: [] };
  const turns = await planTurns(rows, await readLiveJobs(tx, rows));
  const stored = await storeFirings(tx, turns);
  for (const trigger of stored.broken) await announceBroken(tx, trigger);
  const { work, changes } = stored;
  tx.afterCommit((db) => notifyEnqueued(db, { work, changes }));
  return {
    triggers: turns.length,
    jobs: stored.jobs,
    skipped: stored.skipped,
    broken: stored.broken,
    tenants: turns.map(({ trigger }) => trigger.tenantId),
  };
}

/**
 * Plans triggers until the transaction is full. A tenant that has used its share continues after all others had theirs.
 */
async function planTurns(
  rows: readonly DueRow[],
  live: ReadonlyMap<string, readonly LiveJob[]>,
): Promise<PlannedTurn[]> {
  const turns: PlannedTurn[] = [];
  const pauses = new Turns();
  const share = 1 / new Set(rows.map(({ tenant_id }) => tenant_id)).size;
  const used = new Map<string, number>();
  let total = 0;
  const planUpTo = async (most: number, some: readonly DueRow[]): Promise<DueRow[]> => {
    const left: DueRow[] = [];
    for (const row of some) {
      const before = used.get(row.tenant_id) ?? 0;
      if (total >= 1 || before >= most) {
        left.push(row);
        continue;
      }
      await pauses.next();
      const turn = planTurn(row, live.get(row.id) ?? []);
      const cost = turn.firings.length / ROWS_MAX + turn.bytes / PAYLOAD_BYTES;
      used.set(row.tenant_id, before + cost);
      total += cost;
      turns.push(turn);
    }
    return left;
  };
  const left = await planUpTo(share, rows);
  await planUpTo(1, left);
  return turns;
}

// Users who want a notification by mail or webhook create a trigger on this event.
function announceBroken(tx: Transaction, { tenantId, triggerId, reason }: BrokenTrigger): Promise<void> {
  const data = { trigger_id: triggerId, reason };
  return announceEvent(tx, { tenantId, actor: SYSTEM }, { name: "trigger.broken", data });
}

/**
 * Returns the milliseconds until a schedule is due by the database's clock, 0 or less if one is due; null
 * if there is none.
 */
export async function msToNextSchedule(db: Runner): Promise<number | null> {
  const [row] = await db.run<{ in_ms: number | null }>(nextDueSql);
  return row?.in_ms ?? null;
}

async function readLiveJobs(tx: Transaction, rows: readonly DueRow[]): Promise<Map<string, LiveJob[]>> {
  const asked = rows.filter((row) => row.overlap_policy !== "allow");
  const live = new Map<string, LiveJob[]>();
  if (asked.length === 0) return live;
  const found = await tx.run<{ trigger_id: string; job_id: string; state: string }>(liveJobsOfTriggersSql, [
    asked.map((row) => row.tenant_id),
    asked.map((row) => row.id),
    OVERLAP_LOOKS_AT,
  ]);
  for (const { trigger_id, job_id, state } of found) {
    const of = live.get(trigger_id) ?? [];
    live.set(trigger_id, of);
    of.push({ jobId: job_id, isRunning: state === "running" });
  }
  return live;
}

/** Plans one trigger. Any error, also an unexpected one, breaks this trigger only. */
function planTurn(row: DueRow, live: readonly LiveJob[]): PlannedTurn {
  const trigger = toTrigger(row);
  try {
    return planSound(row, trigger, live);
  } catch (error) {
    const detail = error instanceof RangeError ? "This server does not know the time zone of this schedule." : "";
    return abandoned(trigger, detail || "The instants of this schedule cannot be computed. Edit the schedule.");
  }
}

interface PlannedTurn extends FiringTurn {
  /** Approximate size of its jobs' payloads. */
  readonly bytes: number;
}

function planSound(row: DueRow, trigger: DueTrigger, live: readonly LiveJob[]): PlannedTurn {
  const { rule, problems } = readSchedule({
    schedule_type: row.schedule_type,
    cron_expr: row.cron_expr,
    interval_ms: row.interval_ms,
    anchor_at: row.anchor_at?.toISOString(),
    once_at: row.once_at?.toISOString(),
    timezone: row.timezone,
    dst_policy: { gap: row.dst_gap, overlap: row.dst_overlap },
  });
  if (!rule) return abandoned(trigger, problems.map(({ pointer, detail }) => `${pointer} ${detail}`).join("; "));
  const payload = payloadOf(row);
  const decide = (maxRuns: number | null): DueDecision =>
    decideDue({
      rule,
      nextRunAt: row.next_run_at,
      followingRunAt: row.following_run_at,
      now: row.now,
      catchUp: row.catch_up,
      catchUpLimit: Math.min(row.catch_up_limit, Math.ceil(PAYLOAD_BYTES / payload.bytes)),
      jitterSeconds: row.jitter_seconds,
      maxRuns,
      runCount: Number(row.run_count),
      expiresAt: row.expires_at,
      since: row.updated_at,
      random: (at) => instantChance(row.id, at),
    });
  const decision = decide(skipReason(trigger, live) === null ? row.max_runs : null);
  const firings = draftFirings(trigger, { decision, live, now: row.now, render: payload.render });
  const bytes = payload.bytes * firings.filter(({ outcome }) => outcome.kind === "job").length;
  return {
    trigger,
    firings,
    bytes,
    advance: (all) => advance(trigger, all, { decision, unbounded: () => decide(null) }),
  };
}

function abandoned(trigger: DueTrigger, detail: string): PlannedTurn {
  const { firings, advance: end } = giveUp(trigger, { reason: "schedule", detail });
  return { trigger, firings, bytes: 0, advance: () => end };
}

interface TriggerPayload {
  readonly render: Occasion["render"];
  /** Approximate size of one payload, because nearly all instants have the same length. */
  readonly bytes: number;
}

function payloadOf({ id, label, payload_template, next_run_at }: DueRow): TriggerPayload {
  const compiled = compileTriggerTemplate(payload_template, "schedule");
  const render = ({ at: instant, local }: Pick<DueInstant, "at" | "local">) => {
    if (!("template" in compiled)) return compiled;
    const at = instant.toISOString();
    const context: ScheduleContext = { schedule: { at, local, trigger_id: id, label }, trigger: { id, label } };
    return renderTriggerTemplate(compiled.template, context);
  };
  const one = render({ at: next_run_at, local: next_run_at.toISOString() });
  return { render, bytes: "payload" in one ? Buffer.byteLength(JSON.stringify(one.payload)) : 1 };
}

const toTrigger = (row: DueRow): DueTrigger => ({
  id: row.id,
  tenantId: row.tenant_id,
  tenantIsActive: row.tenant_is_active === true,
  definitionKey: row.definition_key ?? "",
  definitionIsActive: row.definition_is_active === true,
  queue: row.queue,
  queueIsActive: row.queue_is_active,
  priority: row.priority,
  overlapPolicy: row.overlap_policy,
  nextRunAt: row.next_run_at,
  status: row.status,
  statusReason: row.status_reason,
});
