import { NonRetryableError } from "../errors";
import type { ChildJob } from "../types";

const MOST_CHILDREN = 1000;

/** The jobs that one attempt has asked for. They are enqueued when it succeeds, and forgotten otherwise. */
export class HandlerChildren {
  readonly #jobs: ChildJob[] = [];

  /** A copy is kept: what the handler does to its object afterwards does not reach the job. */
  add(job: ChildJob): void {
    if (this.#jobs.length >= MOST_CHILDREN) {
      throw new NonRetryableError(`a job can enqueue at most ${MOST_CHILDREN} others`, { errorType: "internal" });
    }
    this.#jobs.push(structuredClone(job));
  }

  get all(): readonly ChildJob[] {
    return this.#jobs;
  }
}
