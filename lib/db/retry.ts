import { DatabaseError } from "./errors";
import { jitter, pause } from "./pause";

const FIRST_DELAY_MS = 20;

/** Runs `work` again, at most `retries` times with growing jittered pauses, while it fails as `worthIt` says. */
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
    await pause(jitter(FIRST_DELAY_MS * 2 ** attempt));
  }
}

/**
 * Repeats work that the database surely undid (deadlock, serialization failure, no connection, a connection lost
 * before COMMIT). The work must bear repetition; an error during COMMIT is never repeated, its outcome is unknown.
 */
export function retryUndone<T>(retries: number, work: () => Promise<T>): Promise<T> {
  return repeatWhile((error) => error.undone, retries, work);
}
