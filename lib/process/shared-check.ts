import { withDeadline } from "@/lib/async/deadline";

const ANSWER_WITHIN_MS = 3000;
const KEPT_MS = 1000;

/**
 * Returns a check that all its callers share: they wait for the same run, and its result is kept for a second. So the
 * database's work does not grow with the number of callers. A run that rejects, or is silent for three seconds, results
 * in `failed`.
 */
export function sharedCheck<T, Failed>(check: () => Promise<T> | T, failed: Failed): () => Promise<T | Failed> {
  let last: { readonly result: Promise<T | Failed>; until: number } | undefined;
  const run = async () => withDeadline(Promise.resolve(check()), ANSWER_WITHIN_MS, () => failed);
  return () => {
    if (last && performance.now() < last.until) return last.result;
    const current = { result: run().catch(() => failed), until: Number.POSITIVE_INFINITY };
    last = current;
    void current.result.then(() => {
      current.until = performance.now() + KEPT_MS;
    });
    return current.result;
  };
}
