import type { JobStatus } from "../states";
import type { LimitScope, PauseOrSuspension, PauseScope, WaitReason } from "../types";

export interface WaitFacts {
  readonly status: JobStatus;
  /** True if scheduled_for is in the future, by the database's clock. */
  readonly isFuture: boolean;
  /** True if the last attempt asked to be run later. */
  readonly isPutOff?: boolean;
  readonly attemptsSpent: number;
  readonly until: string;
  readonly hasWorker: boolean;
  /** The pause or suspension that keeps the job from starting. */
  readonly pause: { readonly scope: PauseOrSuspension; readonly reason: string; readonly until: string | null } | null;
  /** The first of the job's blocking parents, and their number; left out in feeds. */
  readonly blockedBy?: { readonly first: readonly Blocker[]; readonly count: number };
  /** The job's position in its lane; left out in feeds. */
  readonly position?: LanePosition;
}

/** Facts about why a job waits that its row does not have. */
export type MoreFacts = Partial<Pick<WaitFacts, "position" | "blockedBy">>;

/** The position of a ready job among those of its queue, tenant, priority class and definition. */
export interface LanePosition {
  /** Ready jobs before this one, and all ready jobs, each counted up to 1,000. */
  readonly ahead: number;
  readonly total: number;
  /** The limit that kept jobs of this lane from starting in the last seconds. */
  readonly limit: {
    readonly scope: LimitScope;
    readonly by: "running" | "rate";
    readonly maxRunning: number | null;
    readonly startsPerSecond: number | null;
  } | null;
}

export interface Blocker {
  readonly jobId: string;
  readonly definitionKey: string;
}

/** Returns why a job is not running; null for a job that runs or has ended. */
export function describeWait(facts: WaitFacts): WaitReason | null {
  if (facts.status === "paused") return { code: "paused", detail: "The job is paused." };
  if (facts.status === "blocked") return { code: "blocked", detail: blockers(facts.blockedBy) };
  if (facts.status !== "queued") return null;
  if (facts.isFuture && facts.isPutOff) {
    return { code: "scheduled", detail: "Its last attempt snoozed it.", until: facts.until };
  }
  if (facts.isFuture && facts.attemptsSpent > 0) {
    return {
      code: "retry_backoff",
      detail: `Attempt ${facts.attemptsSpent} failed; the next one waits.`,
      until: facts.until,
    };
  }
  if (facts.isFuture) return { code: "scheduled", detail: "The job is scheduled for later.", until: facts.until };
  if (facts.pause) return describePause(facts.pause);
  if (!facts.hasWorker) return { code: "no_worker", detail: "No live worker supports this definition and queue." };
  if (facts.position?.limit) return describeLimit(facts.position.limit);
  return { code: "position", detail: facts.position ? describePosition(facts.position) : "Waits for a free worker." };
}

function blockers(by: WaitFacts["blockedBy"]): string {
  if (by === undefined || by.count === 0) return "The job waits for other jobs.";
  const names = by.first.map(({ definitionKey, jobId }) => `${definitionKey} (${jobId})`);
  const more = by.count - names.length;
  return `Waits for ${more > 0 ? `${names.join(", ")} and ${more} more` : names.join(", ")}.`;
}

const PAUSED: Readonly<Record<PauseScope, string>> = {
  all: "All queues are paused",
  queue: "Its queue is paused",
  definition: "Its definition is paused",
  tenant: "The tenant's jobs are paused",
};

function describePause({ scope, reason, until }: NonNullable<WaitFacts["pause"]>): WaitReason {
  if (scope === "suspension") return { code: "suspended", detail: "The tenant is suspended." };
  return { code: "paused", detail: `${PAUSED[scope]}: ${reason}`, ...(until === null ? {} : { until }) };
}

const LIMITED: Readonly<Record<LimitScope, string>> = {
  queue: "its queue",
  definition: "its definition",
  tenant_queue: "the tenant in this queue",
  tenant_definition: "the tenant with this definition",
};

function describeLimit({ scope, by, maxRunning, startsPerSecond }: NonNullable<LanePosition["limit"]>): WaitReason {
  return by === "running"
    ? {
        code: "at_limit",
        detail: `At a limit: ${maxRunning} ${maxRunning === 1 ? "job" : "jobs"} at once of ${LIMITED[scope]}.`,
      }
    : { code: "rate_limited", detail: `At a limit: ${startsPerSecond} starts a second of ${LIMITED[scope]}.` };
}

function describePosition({ ahead, total }: LanePosition): string {
  if (ahead >= 1000) return "1,000+ jobs of its kind are before it.";
  const all = total >= 1000 ? "1,000+" : String(Math.max(total, ahead + 1));
  return `${ordinal(ahead + 1)} of ${all} of its kind.`;
}

function ordinal(n: number): string {
  const ending = { 1: "st", 2: "nd", 3: "rd" }[n % 10];
  return `${n}${ending !== undefined && ![11, 12, 13].includes(n % 100) ? ending : "th"}`;
}
