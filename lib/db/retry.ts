import { DatabaseError } from "./errors";
import { jitter, waitMs } from "./pause";

const FIRST_DELAY_MS = 20;

/**
 * Runs `work`, and again up to `retries` times with jittered exponential pauses, while `worthIt` accepts its
 * DatabaseError.
 */
export async function repeatWhile<T>(
  worthIt: (error: DatabaseError) => boolean,
  retries: number,
  work: () => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= retries || !(error instanceof DatabaseError) || !worthIt(error)) throw error;
    }
    await waitMs(jitter(FIRST_DELAY_MS * 2 ** attempt));
  }
}

/**
 * Retries work that the database certainly rolled back (deadlock, serialization failure, no connection, a connection
 * lost before COMMIT). The work must be safe to repeat. An error during COMMIT is never retried, because its outcome is
 * unknown.
 */
export function retryUndone<T>(retries: number, work: () => Promise<T>): Promise<T> {
  return repeatWhile((error) => error.undone, retries, work);
}
