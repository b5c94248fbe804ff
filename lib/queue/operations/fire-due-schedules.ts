import type { Runner, Transaction } from "@/lib/db";
import { Turns } from "@/lib/turns";
import {
  advance,
  type DueTrigger,
  draftFirings,
  giveUp,
  type LiveJob,
  type Occasion,
  skipReason,
} from "../policy/plan-firing";
import { decideDue, instantChance, readSchedule } from "../policy/schedule";
import { compileTriggerTemplate, renderTriggerTemplate, type ScheduleContext } from "../policy/trigger-template";
import {
  boundWaitsSql,
  dueTriggerSql,
  liveJobsOfTriggersSql,
  lockDueTriggersSql,
  nextDueSql,
} from "../sql/fire-due-schedules";
import type { CatchUpPolicy, DueDecision, DueInstant } from "../types";
import { announceEvent } from "./events/announce-event";
import { type BrokenTrigger, type FiringTurn, storeFirings } from "./store-firings";
import { SYSTEM } from "./system-actor";
import { notifyEnqueued } from "./wake";

interface DueRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly label: string;
  readonly queue: string | null;
  readonly priority: number | null;
  readonly payload_template: unknown;
  readonly schedule_type: string | null;
  readonly cron_expr: string | null;
  readonly interval_ms: number | null;
  readonly anchor_at: Date | null;
  readonly once_at: Date | null;
  readonly timezone: string | null;
  readonly overlap_policy: DueTrigger["overlapPolicy"];
  readonly catch_up: CatchUpPolicy;
  readonly catch_up_limit: number;
  readonly dst_gap: string | null;
  readonly dst_overlap: string | null;
  readonly jitter_seconds: number;
  readonly max_runs: number | null;
  readonly expires_at: Date | null;
  readonly run_count: number;
  readonly next_run_at: Date;
  readonly following_run_at: Date | null;
  readonly updated_at: Date;
  readonly status: DueTrigger["status"];
  readonly status_reason: string | null;
  readonly definition_key: string | null;
  readonly definition_is_active: boolean | null;
  readonly tenant_is_active: boolean | null;
  readonly queue_is_active: boolean;
  readonly now: Date;
}

export interface FiredSchedules {
  /** Triggers that had their turn. */
  readonly triggers: number;
  readonly jobs: number;
  readonly skipped: number;
  /** Those that were not broken before. */
  readonly broken: readonly BrokenTrigger[];
}

/** Of how many of its newest jobs a trigger asks whether they are over. */
const OVERLAP_LOOKS_AT = 50;
/** Rows of firings after which a transaction takes no further trigger: one that missed a lot does not make it long. */
const ROWS_MAX = 2000;
/** Templates that a transaction reads: what is parsed in one step holds the event loop. */
const TEMPLATE_BYTES = 512 * 1024;
/** Payloads after which a transaction takes no further trigger, and the most that one trigger makes up for at once. */
const PAYLOAD_BYTES = 1024 * 1024;

/**
 * Fires schedules that are due by the database's clock: each instant has a firing, and its job, in the transaction that
 * also says when the trigger is due next. The rows are locked and read here, so an edit, a switch or a deletion that
 * was committed before holds, whatever was known of the trigger earlier. A trigger that cannot fire is marked broken
 * with its reason and told of as the event `trigger.broken`, and stops no other one. Belongs into a transaction of the
 * leader, after `keepTerm`.
 */
export async function fireDueSchedules(
  tx: Transaction,
  { limit }: { readonly limit: number },
): Promise<FiredSchedules> {
  await tx.run(boundWaitsSql);
  const rows = await tx.run<DueRow>(lockDueTriggersSql, [limit, TEMPLATE_BYTES]);
  return fireRows(tx, rows);
}

/**
 * Fires the instants of one schedule that are due, as `fireDueSchedules` does. An edit calls it before it changes
 * anything, because the stored instants do not outlive the edit. The caller holds the trigger's row. True = nothing is
 * due any more; false = something was changed meanwhile, and the instants are still due.
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

async function fireRows(tx: Transaction, rows: readonly DueRow[]): Promise<FiredSchedules> {
  if (rows.length === 0) return { triggers: 0, jobs: 0, skipped: 0, broken: [] };
  const live = await readLiveJobs(tx, rows);
  const turns: FiringTurn[] = [];
  let [size, bytes] = [0, 0];
  const pauses = new Turns();
  for (const row of rows) {
    if (size >= ROWS_MAX || bytes >= PAYLOAD_BYTES) break;
    await pauses.next();
    const turn = planTurn(row, live.get(row.id) ?? []);
    size += turn.firings.length;
    bytes += turn.bytes;
    turns.push(turn);
  }
  const stored = await storeFirings(tx, turns);
  for (const trigger of stored.broken) await tellBroken(tx, trigger);
  const { work, changes } = stored;
  tx.afterCommit((db) => notifyEnqueued(db, { work, changes }));
  return { triggers: turns.length, jobs: stored.jobs, skipped: stored.skipped, broken: stored.broken };
}

// Whoever wants to be told of it, by mail or by webhook, has a trigger on it.
function tellBroken(tx: Transaction, { tenantId, triggerId, reason }: BrokenTrigger): Promise<void> {
  const data = { trigger_id: triggerId, reason };
  return announceEvent(tx, { tenantId, actor: SYSTEM }, { name: "trigger.broken", data });
}

/** Milliseconds until a schedule is due by the database's clock, 0 or less when one is; null when none will be. */
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

/** Whatever is wrong with one trigger, also what nobody has thought of, becomes its own reason. */
function planTurn(row: DueRow, live: readonly LiveJob[]): PlannedTurn {
  const trigger = toTrigger(row);
  try {
    return planSound(row, trigger, live);
  } catch (error) {
    const detail = error instanceof RangeError ? "The time zone or the times of this schedule are not known here." : "";
    return abandoned(trigger, detail || "The instants of this schedule cannot be told.");
  }
}

interface PlannedTurn extends FiringTurn {
  /** Of its jobs' payloads, about. */
  readonly bytes: number;
}

function planSound(row: DueRow, trigger: DueTrigger, live: readonly LiveJob[]): PlannedTurn {
  const { rule, problems } = readSchedule({
    scheduleType: row.schedule_type,
    cronExpr: row.cron_expr,
    intervalMs: row.interval_ms,
    anchorAt: row.anchor_at,
    onceAt: row.once_at,
    timezone: row.timezone,
    dstGap: row.dst_gap,
    dstOverlap: row.dst_overlap,
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
  /** Of one payload, about; the instant has nearly always the same length. */
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
