import { AttemptStoppedError, NonRetryableError } from "../errors";
import { asExactJson } from "../output/exact-json";
import type { StepStore } from "../types";

const NAME_CHARS = 200;

/** The steps of one attempt. */
export class HandlerSteps {
  readonly #used = new Set<string>();

  constructor(private readonly store: StepStore) {}

  /** Returns the stored result of a step. Runs the step and stores its result if no attempt of this run has done so. */
  async run<T>(name: string, fn: () => Promise<T> | T, signal: AbortSignal): Promise<T> {
    this.#take(name);
    const known = await this.store.find(name);
    if (known) return known.result as T;
    if (signal.aborted) throw new AttemptStoppedError(String(signal.reason));
    const result = asStored(name, await fn());
    await this.store.store(name, result);
    return result as T;
  }

  #take(name: string): void {
    if (typeof name !== "string" || name === "" || name.length > NAME_CHARS) {
      throw new NonRetryableError(`a step needs a name of 1 to ${NAME_CHARS} characters`, { errorType: "internal" });
    }
    if (this.#used.has(name)) {
      const message = `step ${JSON.stringify(name)} was used twice in one attempt`;
      throw new NonRetryableError(message, { errorType: "internal" });
    }
    this.#used.add(name);
  }
}

/** Returns the value that a later attempt will read, so that the first attempt sees the same. */
function asStored(name: string, result: unknown): unknown {
  try {
    return asExactJson(result);
  } catch (error) {
    const message = `the result of step ${JSON.stringify(name)} is not JSON: ${(error as Error).message}`;
    throw new NonRetryableError(message, { errorType: "internal" });
  }
}
