import type { JobStatus } from "../states";
import type { PauseScope, WaitReason } from "../types";

export interface WaitFacts {
  readonly status: JobStatus;
  /** scheduled_for is still to come, by the database's clock. */
  readonly isFuture: boolean;
  readonly attemptsSpent: number;
  readonly until: Date;
  readonly hasWorker: boolean;
  /** The pause that holds it. */
  readonly pause: { readonly scope: PauseScope; readonly reason: string; readonly until: Date | null } | null;
  /** Ready jobs before it in its lane, counted up to 1,000; left out where nobody counted. */
  readonly ahead?: number;
}

/** Says why a job is not running; null for one that runs or has ended. */
export function describeWait(facts: WaitFacts): WaitReason | null {
  if (facts.status === "paused") return { code: "paused", detail: "The job is paused." };
  if (facts.status === "blocked") return { code: "blocked", detail: "The job waits for other jobs." };
  if (facts.status !== "queued") return null;
  if (facts.isFuture && facts.attemptsSpent > 0) {
    return {
      code: "retry_backoff",
      detail: `Attempt ${facts.attemptsSpent} failed; the next one waits.`,
      until: facts.until,
    };
  }
  if (facts.isFuture) return { code: "scheduled", detail: "The job is scheduled for later.", until: facts.until };
  if (facts.pause) return describePause(facts.pause);
  if (!facts.hasWorker) return { code: "no_worker", detail: "No live worker serves this definition and queue." };
  return { code: "position", detail: place(facts.ahead) };
}

const PAUSED: Readonly<Record<PauseScope, string>> = {
  all: "All queues are paused",
  queue: "Its queue is paused",
  definition: "Its definition is paused",
  tenant: "The tenant's jobs are paused",
};

function describePause({ scope, reason, until }: NonNullable<WaitFacts["pause"]>): WaitReason {
  return { code: "paused", detail: `${PAUSED[scope]}: ${reason}`, ...(until === null ? {} : { until }) };
}

function place(ahead: number | undefined): string {
  if (ahead === undefined) return "Waits for a free worker.";
  if (ahead >= 1000) return "More than 1,000 jobs of its kind are before it.";
  return ahead === 0 ? "Next of its kind." : `${ahead} of its kind ${ahead === 1 ? "is" : "are"} before it.`;
}
