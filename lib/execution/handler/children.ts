import { NonRetryableError } from "../errors";
import type { ChildJob } from "../types";

const MOST_CHILDREN = 1000;

/** The jobs that one attempt enqueues. They are stored when it succeeds, and dropped otherwise. */
export class HandlerChildren {
  readonly #jobs: ChildJob[] = [];

  /** Keeps a copy, so that later changes to the handler's object do not reach the job. */
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
