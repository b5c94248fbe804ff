const LONGEST_STEP_MS = 2 ** 30;

export interface Timer {
  /** Harmless after it fired. */
  cancel(): void;
}

/**
 * Calls `fire` once after `seconds`, by the monotonic clock: a changed wall clock moves nothing. Longer than what
 * `setTimeout` can hold (24.8 days) is waited for in steps, since an overlong `setTimeout` fires at once.
 */
export function startTimer(seconds: number, fire: () => void): Timer {
  const deadline = performance.now() + seconds * 1000;
  let handle: NodeJS.Timeout;
  const wait = () => {
    const left = deadline - performance.now();
    handle =
      left <= 0
        ? setTimeout(fire, 0)
        : setTimeout(left > LONGEST_STEP_MS ? wait : fire, Math.min(left, LONGEST_STEP_MS));
  };
  wait();
  return { cancel: () => clearTimeout(handle) };
}

/** Resolves after `ms`; `ms` must be below 24 days. */
export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
