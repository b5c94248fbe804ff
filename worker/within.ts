import { setTimeout as delay } from "node:timers/promises";

/** Waits for the end of `work`, good or bad, and at most so many milliseconds: a worker leaves also when nobody answers. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  await Promise.race([work.catch(() => undefined), delay(ms, undefined, { ref: false })]);
}
