/**
 * Settles as `work` does. After `ms` milliseconds, settles with what `onLate` returns or throws, or with undefined
 * without `onLate`.
 *
 * `onLate` runs only if the work has not settled in time. The work itself goes on, and its later rejection is not
 * reported as unhandled. The timer keeps the process alive and is cleared when the work settles. `ms` must be below
 * 2³¹ (24.8 days), because `setTimeout` fires at once for longer delays.
 */
export function withDeadline<T>(work: Promise<T>, ms: number): Promise<T | undefined>;
export function withDeadline<T, Late>(work: Promise<T>, ms: number, onLate: () => Late): Promise<T | Late>;
export function withDeadline<T, Late>(
  work: Promise<T>,
  ms: number,
  onLate?: () => Late,
): Promise<T | Late | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      try {
        resolve(onLate?.());
      } catch (error) {
        reject(error);
      }
    }, ms);
    work.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
