import { setTimeout as delay } from "node:timers/promises";

/** Waits until `work` settles, but at most this many milliseconds, so that a worker can leave a silent database. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  await Promise.race([work.catch(() => undefined), delay(ms, undefined, { ref: false })]);
}
