import type { FieldProblem, NewJob } from "../types";
import type { DueDecision, DueInstant } from "./types";

/** The parts of a locked trigger row that its firing depends on. */
export interface DueTrigger {
  readonly id: string;
  readonly tenantId: string;
  readonly tenantIsActive: boolean;
  readonly definitionKey: string;
  readonly definitionIsActive: boolean;
  readonly queue: string | null;
  readonly queueIsActive: boolean;
  readonly priority: number | null;
  readonly overlapPolicy: "allow" | "skip" | "queue_one";
  readonly nextRunAt: Date;
  readonly status: "active" | "broken";
  readonly statusReason: string | null;
}

/** A job of a trigger that has not ended. */
export interface LiveJob {
  readonly jobId: string;
  readonly isRunning: boolean;
}

/** Why an instant made no job. The sentence is for people and contains no values. */
export interface FiringRefusal {
  readonly reason: string;
  readonly detail: string;
}

/** The decision about one instant, or about `n` instants up to `until`: a job, or none and why. */
export interface DraftFiring {
  readonly at: Date;
  readonly n: number;
  readonly until: Date | null;
  readonly isCatchUp: boolean;
  readonly note: string | null;
  readonly outcome:
    | { readonly kind: "job"; readonly job: NewJob; readonly waitsFor: readonly string[] }
    | { readonly kind: "skipped"; readonly reason: string }
    | ({ readonly kind: "failed" } & FiringRefusal);
}

/** A trigger's state after its turn. */
export interface Advance {
  readonly nextRunAt: Date | null;
  readonly followingRunAt: Date | null;
  readonly status: "active" | "broken" | "finished";
  readonly statusReason: string | null;
}

export interface Occasion {
  readonly decision: DueDecision;
  readonly live: readonly LiveJob[];
  /** The time at which the decision was made. */
  readonly now: Date;
  /** Renders the payload of an instant, or returns the problems of the template. */
  readonly render: (
    instant: DueInstant,
  ) => { readonly payload: unknown } | { readonly problems: readonly FieldProblem[] };
}

/**
 * Decides what each due instant becomes, oldest first. If the trigger waits for its own job or its tenant is suspended,
 * the instants are skipped.
 * Instants of one turn do not overlap each other, so `catchUp` "all" fires all of them; only `queue_one` makes
 * one job of them.
 */
export function draftFirings(trigger: DueTrigger, occasion: Occasion): DraftFiring[] {
  const missed = occasion.decision.skipped.map(
    ({ at, until, n, reason, note = null }): DraftFiring => ({
      at,
      n,
      until,
      isCatchUp: false,
      note,
      outcome: { kind: "skipped", reason },
    }),
  );
  const kept = skipReason(trigger, occasion.live);
  const due = occasion.decision.fire.map((instant, index): DraftFiring => {
    const { at, isCatchUp, note } = instant;
    const tooMany = trigger.overlapPolicy === "queue_one" && index > 0 ? "overlap" : null;
    const reason = kept ?? tooMany;
    const outcome: DraftFiring["outcome"] =
      reason === null ? fire(trigger, instant, occasion) : { kind: "skipped", reason };
    return { at, n: 1, until: null, isCatchUp, note, outcome };
  });
  return [...missed, ...due].toSorted((a, b) => a.at.getTime() - b.at.getTime());
}

/** Returns why none of the due instants makes a job; null if they do. */
export function skipReason(trigger: DueTrigger, live: readonly LiveJob[]): "tenant-suspended" | "overlap" | null {
  if (!trigger.tenantIsActive) return "tenant-suspended";
  if (trigger.overlapPolicy === "skip" && live.length > 0) return "overlap";
  if (trigger.overlapPolicy === "queue_one" && live.some(({ isRunning }) => !isRunning)) return "overlap";
  return null;
}

function fire(trigger: DueTrigger, instant: DueInstant, { live, now, render }: Occasion): DraftFiring["outcome"] {
  const refusal = refusalOf(trigger);
  if (refusal) return { kind: "failed", ...refusal };
  const rendered = render(instant);
  if ("problems" in rendered) return { kind: "failed", ...refusalFrom("template", rendered.problems) };
  const { at, startAt, isCatchUp } = instant;
  const job: NewJob = {
    definitionKey: trigger.definitionKey,
    payload: rendered.payload,
    source: "schedule",
    sourceRef: trigger.id,
    metadata: { instant: at.toISOString(), ...(isCatchUp ? { catch_up: true } : {}) },
    ...(trigger.queue === null ? {} : { queue: trigger.queue }),
    ...(trigger.priority === null ? {} : { priority: trigger.priority }),
    ...(startAt > now ? { scheduledFor: startAt } : {}),
  };
  return { kind: "job", job, waitsFor: trigger.overlapPolicy === "queue_one" ? live.map(({ jobId }) => jobId) : [] };
}

function refusalOf({ definitionIsActive, queueIsActive }: DueTrigger): FiringRefusal | null {
  if (!definitionIsActive) return { reason: "definition-inactive", detail: "The definition is disabled or deleted." };
  if (!queueIsActive) return { reason: "queue-unknown", detail: "No active queue has this name." };
  return null;
}

/** Names the first five problems by their pointers. */
export function refusalFrom(reason: string, problems: readonly FieldProblem[]): FiringRefusal {
  const details = problems.slice(0, 5).map(({ pointer, detail }) => `${pointer || "/"} ${detail}`);
  return { reason, detail: details.join("; ") };
}

/**
 * Returns the trigger's state after the turn. The last instant that was to make a job decides the status: broken with a
 * reason if the job failed to be made, active if it was made.
 * `max_runs` finishes the trigger only if all the runs took place. If some did not, `unbounded` gives the decision
 * without `max_runs`.
 */
export function advance(
  trigger: DueTrigger,
  firings: readonly DraftFiring[],
  given: { readonly decision: DueDecision; readonly unbounded: () => DueDecision },
): Advance {
  const due = firings.filter(({ outcome }) => outcome.kind !== "skipped");
  const isShort = given.decision.fire.length > firings.filter(({ outcome }) => outcome.kind === "job").length;
  const decision = given.decision.finished === "max_runs" && isShort ? given.unbounded() : given.decision;
  const { nextRunAt, followingRunAt, finished } = decision;
  const last = due.at(-1)?.outcome;
  if (last?.kind === "failed")
    return { nextRunAt, followingRunAt, status: "broken", statusReason: `${last.reason}: ${last.detail}` };
  if (finished !== null || nextRunAt === null)
    return { nextRunAt: null, followingRunAt: null, status: "finished", statusReason: finished ?? "over" };
  if (last !== undefined) return { nextRunAt, followingRunAt, status: "active", statusReason: null };
  return { nextRunAt, followingRunAt, status: trigger.status, statusReason: trigger.statusReason };
}

/**
 * Gives up on a trigger whose instants cannot be computed. Its due instant fails, and no other follows until an edit.
 */
export function giveUp(
  trigger: DueTrigger,
  { reason, detail }: FiringRefusal,
): { firings: DraftFiring[]; advance: Advance } {
  const outcome = { kind: "failed", reason, detail } as const;
  return {
    firings: [{ at: trigger.nextRunAt, n: 1, until: null, isCatchUp: false, note: null, outcome }],
    advance: { nextRunAt: null, followingRunAt: null, status: "broken", statusReason: `${reason}: ${detail}` },
  };
}
