import { setTimeout as sleep } from "node:timers/promises";
import { isUnavailable } from "@/lib/db";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2000;

interface Patient {
  /** Aborted when the attempt is to stop: also when its lease is lost, which an outage longer than the lease does. */
  readonly signal: AbortSignal;
}

/**
 * Repeats a database call of an attempt while the database is away, so that an outage shorter than the lease costs no
 * attempt. Any other error, and the last one once the attempt is to stop, is thrown. The call must bear repetition.
 * @param worthIt whether this failure may be repeated; all of them unless given
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
