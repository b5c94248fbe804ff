import { withDeadline } from "@/lib/async/deadline";

const ANSWER_WITHIN_MS = 3000;
const KEPT_MS = 1000;
const KEPT_DURING_RUN_MS = 5000;

/** Runs a check. A run that rejects, or is silent for three seconds, results in `failed`. */
export function checked<T, Failed>(check: () => Promise<T> | T, failed: Failed): Promise<T | Failed> {
  const silent = () => failed;
  const work = async () => check();
  return withDeadline(work(), ANSWER_WITHIN_MS, silent).catch(silent);
}

/**
 * Returns a check that all its callers share, so that the database's work does not grow with their number. The result
 * of a run is kept for a second; then the next caller waits for another run. Other callers get the last result
 * meanwhile, up to five seconds after it, because many answers at once would block the event loop. A run that rejects,
 * or is silent for three seconds, results in `failed`.
 */
export function sharedCheck<T, Failed>(check: () => Promise<T> | T, failed: Failed): () => Promise<T | Failed> {
  let last: { readonly result: T | Failed; readonly at: number } | undefined;
  let running: Promise<T | Failed> | undefined;
  const run = async () => {
    const result = await checked(check, failed);
    last = { result, at: performance.now() };
    running = undefined;
    return result;
  };
  return async () => {
    const keptMs = running ? KEPT_DURING_RUN_MS : KEPT_MS;
    if (last && performance.now() - last.at < keptMs) return last.result;
    running ??= run();
    return running;
  };
}
