import { setTimeout as sleep } from "node:timers/promises";
import { isUnavailable } from "@/lib/db";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2000;

interface Patient {
  /**
   * Aborted when the attempt must stop, which includes a lost lease: an outage longer than the lease ends the retries.
   */
  readonly signal: AbortSignal;
}

/**
 * Retries a database call of an attempt while the database is unavailable, so an outage shorter than the lease costs no
 * attempt. The call must be safe to repeat.
 * @param worthIt whether this failure may be retried; by default, all may
 * @throws any other error, and the last one once the attempt must stop
 */
export async function throughOutage<T>(
  attempt: Patient,
  call: () => Promise<T>,
  worthIt: () => boolean = () => true,
): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
    try {
      return await call();
    } catch (error) {
      if (!isUnavailable(error) || !worthIt()) throw error;
      await sleep(pauseMs, undefined, { signal: attempt.signal }).catch(() => undefined);
      if (attempt.signal.aborted) throw error;
    }
  }
}
