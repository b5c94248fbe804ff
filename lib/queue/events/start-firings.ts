import type { TenantTransaction } from "@/lib/db";
import { Turns } from "@/lib/turns";
import { cutText } from "../clean.policy";
import { type EnqueuedOrRefused, enqueueEach } from "../enqueue/enqueue-each";
import { QueueError } from "../errors";
import type { NewJob, TenantScope } from "../types";
import { inWords } from "./event-match.policy";
import { unfinishedOfTriggersSql } from "./events.sql";
import type { Listener } from "./listeners";
import type { PlannedFiring } from "./plan-firings";
import { type FiringEnd, TriggerBudget } from "./trigger-budget";

/** The most characters of a stored refusal, before and after MANY_CHARACTERS were stored by one call. */
const DETAIL_MAX = 500;
const LATER_DETAIL_MAX = 100;
const MANY_CHARACTERS = 512 * 1024;

/** A firing as it is stored. */
export interface StartedFiringRow extends FiringEnd {
  readonly trigger_id: string;
  readonly event_id: string;
  readonly fire_at: Date;
}

type WithJob = Extract<PlannedFiring, { readonly job: NewJob }>;

/**
 * Enqueues the jobs of firings, in rounds, and returns the outcome of each. The caller must have locked the triggers.
 * Firings of a trigger with `max_runs` or an overlap policy end as if they came one after the other. Still, a round
 * takes as many of them as the trigger may start in any case. A second round follows only after firings that started
 * nothing, or for a job that waits for one of the first round.
 */
export async function startFirings(
  tx: TenantTransaction,
  { tenantId, actor }: TenantScope,
  firings: readonly PlannedFiring[],
): Promise<StartedFiringRow[]> {
  // The publisher's own restrictions do not apply, because the trigger was saved by a caller who may start such jobs.
  const scope = { tenantId, actor };
  let open = firings.filter((firing): firing is WithJob => "job" in firing);
  const ends = new Map<PlannedFiring, FiringEnd>();
  const budgets = await budgetsOf(tx, open);
  const turns = new Turns();
  let kept = 0;
  while (open.length > 0) {
    const { round, later } = await nextRound(open, { budgets, ends, turns });
    const answers = await enqueueEach(
      tx,
      scope,
      round.map(({ job }) => job),
    );
    for (const [index, { firing, job }] of round.entries()) {
      await turns.next();
      const end = endOf(answers[index], kept < MANY_CHARACTERS ? DETAIL_MAX : LATER_DETAIL_MAX);
      kept += end.detail?.length ?? 0;
      ends.set(firing, end);
      budgets.get(firing.listener.id)?.took(job, end);
    }
    open = later;
  }
  return firings.map((firing) => ({
    trigger_id: firing.listener.id,
    event_id: firing.event.id,
    fire_at: firing.event.receivedAt,
    ...(ends.get(firing) ?? unstarted(firing)),
  }));
}

function unstarted(firing: PlannedFiring): FiringEnd {
  if ("job" in firing) throw new Error("a firing that asks for a job was not looked at");
  return { outcome: firing.outcome, reason: firing.reason, detail: firing.detail, job_id: null };
}

interface Round {
  readonly round: readonly { readonly firing: WithJob; readonly job: NewJob }[];
  readonly later: WithJob[];
}

/**
 * Takes each firing that may start its job however the others of the round end, and ends those that cannot start one.
 */
async function nextRound(
  open: readonly WithJob[],
  {
    budgets,
    ends,
    turns,
  }: {
    readonly budgets: ReadonlyMap<string, TriggerBudget>;
    readonly ends: Map<PlannedFiring, FiringEnd>;
    readonly turns: Turns;
  },
): Promise<Round> {
  const round: { firing: WithJob; job: NewJob }[] = [];
  const later: WithJob[] = [];
  for (const budget of budgets.values()) budget.beginRound();
  for (const firing of open) {
    await turns.next();
    const budget = budgets.get(firing.listener.id);
    const next = budget ? budget.ask(firing.job) : { job: firing.job };
    if (next === "later") later.push(firing);
    else if ("job" in next) round.push({ firing, job: next.job });
    else ends.set(firing, next);
  }
  return { round, later };
}

/** The budgets of triggers that limit the jobs they may start, by trigger id. */
async function budgetsOf(tx: TenantTransaction, firings: readonly WithJob[]): Promise<Map<string, TriggerBudget>> {
  const listeners = new Map(firings.map(({ listener }) => [listener.id, listener]));
  const bounded = [...listeners.values()].filter(({ runsLeft, overlap }) => runsLeft !== null || overlap !== "allow");
  const unfinished = await unfinishedJobs(tx, bounded);
  return new Map(
    bounded.map((listener) => [listener.id, new TriggerBudget(listener, unfinished.get(listener.id) ?? [])]),
  );
}

async function unfinishedJobs(tx: TenantTransaction, listeners: readonly Listener[]): Promise<Map<string, string[]>> {
  const ids = listeners.flatMap(({ id, overlap }) => (overlap === "allow" ? [] : [id]));
  if (ids.length === 0) return new Map();
  const rows = await tx.run<{ trigger_id: string; job_id: string }>(unfinishedOfTriggersSql, [tx.tenantId, ids]);
  const found = new Map<string, string[]>();
  for (const { trigger_id, job_id } of rows) {
    const jobs = found.get(trigger_id);
    if (jobs) jobs.push(job_id);
    else found.set(trigger_id, [job_id]);
  }
  return found;
}

const REASONS: Readonly<Partial<Record<QueueError["code"], string>>> = {
  "payload-invalid": "payload",
  "payload-too-large": "payload",
  "definition-unknown": "definition-inactive",
};

function endOf(answer: EnqueuedOrRefused | undefined, mostCharacters: number): FiringEnd {
  if (answer === undefined) throw new Error("a job was neither accepted nor refused");
  if (!(answer instanceof QueueError)) {
    const outcome = answer.deduplicated ? "deduplicated" : "enqueued";
    return { outcome, reason: null, detail: null, job_id: answer.jobId };
  }
  const detail = answer.problems.length > 0 ? inWords(answer.problems) : answer.message;
  return {
    outcome: "failed",
    reason: REASONS[answer.code] ?? answer.code,
    detail: cutText(detail, mostCharacters),
    job_id: null,
  };
}
