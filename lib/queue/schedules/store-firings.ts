import { bisect } from "@/lib/async/bisect";
import { DatabaseError, type Transaction } from "@/lib/db";
import { Turns } from "@/lib/turns";
import { cutText } from "../clean.policy";
import { type EnqueuedForTenant, enqueueForTenants, wasChanged } from "../enqueue/enqueue-for-tenants";
import { type NewJobItem, toItem } from "../enqueue/new-job-item";
import { QueueError } from "../errors";
import { SYSTEM } from "../system-actor";
import { advanceTriggersSql, insertScheduleFiringsSql, knownInstantsSql } from "./fire-due-schedules.sql";
import { type Advance, type DraftFiring, type DueTrigger, giveUp, refusalFrom } from "./plan-firing.policy";

/** The plan for one trigger. `advance` depends on whether its jobs' definitions accept the payloads. */
export interface FiringTurn {
  readonly trigger: DueTrigger;
  readonly firings: readonly DraftFiring[];
  readonly advance: (firings: readonly DraftFiring[]) => Advance;
}

/** A trigger that failed to make the job of an instant, or whose instants cannot be computed. */
export interface BrokenTrigger {
  readonly tenantId: string;
  readonly triggerId: string;
  readonly reason: string;
}

export interface StoredFirings {
  readonly jobs: number;
  readonly skipped: number;
  readonly broken: readonly BrokenTrigger[];
  /** Lanes with new ready jobs (`work`), and lanes with any change (`changes`). */
  readonly work: readonly number[];
  readonly changes: readonly number[];
}

interface CheckedFiring {
  readonly firing: DraftFiring;
  readonly item: NewJobItem | null;
}

interface CheckedTurn {
  readonly turn: FiringTurn;
  readonly checked: readonly CheckedFiring[];
}

/** The column length of a firing's detail. */
const DETAIL_MAX = 2000;
const NOTHING: StoredFirings = { jobs: 0, skipped: 0, broken: [], work: [], changes: [] };

/**
 * Stores firings with their jobs and advances their triggers. If the database refuses a batch, it is split in halves
 * until the refused trigger is alone. That trigger is set aside, and all others are stored.
 */
export async function storeFirings(tx: Transaction, turns: readonly FiringTurn[]): Promise<StoredFirings> {
  const parts = await bisect(turns, {
    apply: (some) => tx.savepoint(() => storeTogether(tx, some)),
    isOfOne: isOfOneTrigger,
    onRefused: (only, error) => setAside(tx, only, error),
  });
  return parts.reduce(joined, NOTHING);
}

const isOfOneTrigger = (error: unknown): boolean =>
  error instanceof DatabaseError &&
  !error.connectionLost &&
  !["unavailable", "retryable", "forbidden"].includes(error.kind);

const joined = (a: StoredFirings, b: StoredFirings): StoredFirings => ({
  jobs: a.jobs + b.jobs,
  skipped: a.skipped + b.skipped,
  broken: [...a.broken, ...b.broken],
  work: [...a.work, ...b.work],
  changes: [...a.changes, ...b.changes],
});

/**
 * Handles a refused trigger. If something changed concurrently or a row was locked, the trigger stays due and its next
 * turn reads the new state. Any other refusal would repeat forever, so the trigger is broken.
 */
async function setAside(tx: Transaction, turn: FiringTurn, error: unknown): Promise<StoredFirings> {
  if (wasChanged(error) || (error instanceof DatabaseError && error.kind === "timeout")) return NOTHING;
  const refusal = { reason: "store", detail: "The database did not take what was to be stored." };
  const { advance } = giveUp(turn.trigger, refusal);
  await tx.savepoint(() => tx.run(advanceTriggersSql, [JSON.stringify([advanceRow(turn.trigger, [], advance)])]));
  return { ...NOTHING, broken: brokenBy(turn.trigger, advance) };
}

async function storeTogether(tx: Transaction, turns: readonly FiringTurn[]): Promise<StoredFirings> {
  const known = await readKnown(tx, turns);
  const pauses = new Turns();
  const checked: CheckedTurn[] = [];
  for (const turn of turns) checked.push({ turn, checked: await checkFirings(tx, turn, { known, pauses }) });
  const enqueued = await enqueueAll(tx, checked);
  const rows = checked.flatMap(({ turn, checked: all }) => all.map((one) => firingRow(turn.trigger, one, enqueued)));
  if (rows.length > 0) await tx.run(insertScheduleFiringsSql, [JSON.stringify(rows)]);
  const advances = checked.map(({ turn, checked: all }) => {
    const firings = all.map(({ firing }) => firing);
    return { trigger: turn.trigger, firings, advance: turn.advance(firings) };
  });
  await tx.run(advanceTriggersSql, [
    JSON.stringify(advances.map(({ trigger, firings, advance }) => advanceRow(trigger, firings, advance))),
  ]);
  const fresh = [...enqueued.values()].filter(({ deduplicated }) => !deduplicated);
  return {
    jobs: fresh.length,
    skipped: rows.reduce((sum, { outcome, n }) => sum + (outcome === "skipped" ? n : 0), 0),
    broken: advances.flatMap(({ trigger, advance }) => brokenBy(trigger, advance)),
    work: fresh.filter(({ ready }) => ready).map(({ lane_no }) => lane_no),
    changes: fresh.map(({ lane_no }) => lane_no),
  };
}

const brokenBy = (trigger: DueTrigger, { status, statusReason }: Advance): BrokenTrigger[] =>
  status === "broken" && (trigger.status !== "broken" || trigger.statusReason !== statusReason)
    ? [{ tenantId: trigger.tenantId, triggerId: trigger.id, reason: statusReason ?? "" }]
    : [];

const nameOf = (triggerId: string, at: Date): string => `${triggerId} ${at.getTime()}`;

/** Instants that already have a firing, because a clock or a due time was set back. They are not fired again. */
async function readKnown(tx: Transaction, turns: readonly FiringTurn[]): Promise<Set<string>> {
  const all = turns.flatMap(({ trigger, firings }) => firings.map(({ at }) => ({ trigger, at })));
  const rows = await tx.run<{ trigger_id: string; fire_at: Date }>(knownInstantsSql, [
    all.map(({ trigger }) => trigger.tenantId),
    all.map(({ trigger }) => trigger.id),
    all.map(({ at }) => at),
  ]);
  return new Set(rows.map(({ trigger_id, fire_at }) => nameOf(trigger_id, fire_at)));
}

async function checkFirings(
  tx: Transaction,
  { trigger, firings }: FiringTurn,
  { known, pauses }: { readonly known: ReadonlySet<string>; readonly pauses: Turns },
): Promise<CheckedFiring[]> {
  const checked: CheckedFiring[] = [];
  for (const firing of firings) {
    await pauses.next();
    if (!known.has(nameOf(trigger.id, firing.at))) checked.push(await checkFiring(tx, trigger, firing));
  }
  return checked;
}

/** Validates a payload against its definition's schema. A refusal becomes the outcome of the instant. */
async function checkFiring(tx: Transaction, trigger: DueTrigger, firing: DraftFiring): Promise<CheckedFiring> {
  if (firing.outcome.kind !== "job") return { firing, item: null };
  const { job, waitsFor } = firing.outcome;
  try {
    const item = await toItem(tx, { tenantId: trigger.tenantId, actor: SYSTEM }, { job, link: undefined, at: "" });
    return { firing, item: waitsFor.length > 0 ? { ...item, depends_on: waitsFor.map(afterIt) } : item };
  } catch (error) {
    if (!(error instanceof QueueError)) throw error;
    const reason = error.code.startsWith("payload") ? "payload" : error.code;
    const refusal = error.problems.length > 0 ? refusalFrom(reason, error.problems) : { reason, detail: error.message };
    return { firing: { ...firing, outcome: { kind: "failed", ...refusal } }, item: null };
  }
}

const afterIt = (parentId: string, index: number) =>
  ({ edge_no: index + 1, parent: parentId, type: "completion", on_failure: "run" }) as const;

/** Enqueues each tenant's jobs in one batch and returns the jobs by firing. */
async function enqueueAll(
  tx: Transaction,
  turns: readonly CheckedTurn[],
): Promise<Map<DraftFiring, EnqueuedForTenant>> {
  const byTenant = new Map<string, { readonly firing: DraftFiring; readonly item: NewJobItem }[]>();
  for (const { turn, checked } of turns) {
    for (const { firing, item } of checked) {
      if (item === null) continue;
      const of = byTenant.get(turn.trigger.tenantId) ?? [];
      byTenant.set(turn.trigger.tenantId, of);
      of.push({ firing, item });
    }
  }
  const batches = [...byTenant].map(([tenantId, all]) => ({ tenantId, items: all.map(({ item }) => item) }));
  const answers = await enqueueForTenants(tx, batches);
  const enqueued = new Map<DraftFiring, EnqueuedForTenant>();
  [...byTenant.values()].forEach((all, tenantNo) => {
    all.forEach(({ firing }, index) => {
      const job = answers[tenantNo]?.[index];
      if (job) enqueued.set(firing, job);
    });
  });
  return enqueued;
}

function firingRow(
  trigger: DueTrigger,
  { firing }: CheckedFiring,
  enqueued: ReadonlyMap<DraftFiring, EnqueuedForTenant>,
) {
  const { at, n, until, isCatchUp, note, outcome } = firing;
  const job = enqueued.get(firing);
  return {
    tenant_id: trigger.tenantId,
    trigger_id: trigger.id,
    fire_at: at,
    outcome: outcome.kind !== "job" ? outcome.kind : job?.deduplicated ? "deduplicated" : "enqueued",
    reason: outcome.kind === "job" ? null : outcome.reason,
    detail: outcome.kind === "failed" ? cutText(outcome.detail, DETAIL_MAX) : null,
    n,
    until,
    job_id: job?.job_id ?? null,
    is_catch_up: isCatchUp,
    note,
  };
}

function advanceRow(trigger: DueTrigger, firings: readonly DraftFiring[], advance: Advance) {
  const runs = firings.filter(({ outcome }) => outcome.kind === "job");
  return {
    tenant_id: trigger.tenantId,
    trigger_id: trigger.id,
    runs: runs.length,
    next_run_at: advance.nextRunAt,
    following_run_at: advance.followingRunAt,
    last_run_at: runs.at(-1)?.at ?? null,
    status: advance.status,
    status_reason: advance.statusReason,
  };
}
