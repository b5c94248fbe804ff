import type { NewJob } from "../types";
import type { Listener } from "./listeners";

/** The outcome of a firing. */
export interface FiringEnd {
  readonly outcome: "enqueued" | "deduplicated" | "skipped" | "failed";
  readonly reason: string | null;
  readonly detail: string | null;
  readonly job_id: string | null;
}

/**
 * The jobs that one trigger may still start in this transaction, by `max_runs` and its overlap policy. Gives each
 * firing the outcome that it would have if firings came one after the other, while as many as possible share a round.
 */
export class TriggerBudget {
  #started = 0;
  readonly #unfinished: string[];
  /** The job of each dedupe key that was held when a firing asked for it. */
  readonly #holders = new Map<string, { readonly payload: string; readonly jobId: string }>();
  /** One entry per job that the round can start: firings with the same dedupe key start one together. */
  #inRound = new Set<unknown>();
  #isFull = false;

  constructor(
    private readonly listener: Listener,
    unfinished: readonly string[],
  ) {
    this.#unfinished = [...unfinished];
  }

  beginRound(): void {
    this.#inRound = new Set();
    this.#isFull = false;
  }

  /** Returns the job to enqueue in this round, the outcome of the firing, or "later" if that depends on the round. */
  ask(job: NewJob): { readonly job: NewJob } | FiringEnd | "later" {
    if (this.#isFull) return "later";
    const reason = this.#refusal();
    if (reason) return { outcome: "skipped", reason, detail: null, job_id: null };
    if (this.#inRound.size >= this.#roundMax()) {
      this.#isFull = true;
      return "later";
    }
    const holder = job.dedupeKey === undefined ? undefined : this.#holders.get(job.dedupeKey);
    // The schema may refuse another payload under the same key, so only an equal payload is certain
    // to end the same way.
    if (holder && holder.payload === payloadText(job))
      return { outcome: "deduplicated", reason: null, detail: null, job_id: holder.jobId };
    this.#inRound.add(job.dedupeKey ?? job);
    const [before] = this.listener.overlap === "queue_one" ? this.#unfinished : [];
    return { job: before === undefined ? job : after(job, before) };
  }

  /** Records the outcome of a job of the round. */
  took(job: NewJob, { outcome, job_id }: FiringEnd): void {
    if (job_id === null) return;
    const { dedupeKey } = job;
    if (dedupeKey !== undefined) this.#holders.set(dedupeKey, { payload: payloadText(job), jobId: job_id });
    if (outcome !== "enqueued") return;
    this.#started += 1;
    this.#unfinished.push(job_id);
  }

  #refusal(): "max_runs" | "overlap" | null {
    if (this.#runsLeft() <= 0) return "max_runs";
    return this.#overlapLeft() <= 0 ? "overlap" : null;
  }

  #roundMax(): number {
    // The second job waits for the first, whose id is unknown until the round ends.
    const isFirst = this.listener.overlap === "queue_one" && this.#unfinished.length === 0;
    return Math.min(this.#runsLeft(), isFirst ? 1 : this.#overlapLeft());
  }

  #runsLeft(): number {
    return (this.listener.runsLeft ?? Number.POSITIVE_INFINITY) - this.#started;
  }

  #overlapLeft(): number {
    if (this.listener.overlap === "allow") return Number.POSITIVE_INFINITY;
    return (this.listener.overlap === "skip" ? 1 : 2) - this.#unfinished.length;
  }
}

/** The payload as JSON, cached because a job may ask in every round. */
function payloadText(job: NewJob): string {
  const key = job.payload;
  if (typeof key !== "object" || key === null) return JSON.stringify(key ?? null);
  const known = payloadTexts.get(key);
  if (known !== undefined) return known;
  const text = JSON.stringify(key);
  payloadTexts.set(key, text);
  return text;
}
const payloadTexts = new WeakMap<object, string>();

/** A job that waits for the end of another job, whatever its outcome. */
const after = (job: NewJob, jobId: string): NewJob => ({
  ...job,
  dependsOn: [{ jobId, type: "completion" }],
  onParentFailure: "run",
});
