const LONGEST_STEP_MS = 2 ** 30;

export interface Timer {
  /** A no-op after it fired. */
  cancel(): void;
}

/**
 * Calls `fire` once after `seconds`, by the monotonic clock, so a changed wall clock has no effect. Waits in steps
 * beyond the limit of `setTimeout` (24.8 days), because an overlong `setTimeout` fires at once.
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
