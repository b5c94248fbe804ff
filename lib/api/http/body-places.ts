import { holdUntilSettled, isAbandonable, throwIfAbandoned } from "@/lib/async/abandon";
import { currentLine } from "@/lib/db";
import { TurnLines } from "@/lib/turn-lines";
import { HttpProblem } from "./problem";

/** Smaller bodies need no place. A process has at most `MAX_CONNECTIONS` of them. */
export const LONG_BODY_BYTES = 32_768;
const PATIENCE_MS = 3000;

// On globalThis, because routes are bundled separately and share the memory of one process.
const PLACES = Symbol.for("leasehold.body-places");
const slots = globalThis as unknown as { [PLACES]?: { readonly read: TurnLines; readonly parsed: TurnLines } };
slots[PLACES] ??= {
  // Many, because slow clients keep their places for seconds, and a body takes no more memory than its bytes.
  read: new TurnLines({ atOnce: 64, ofLine: () => 16 }),
  // A parsed body takes tens of megabytes until its jobs are stored. All share one event loop, so more are no faster.
  parsed: new TurnLines({ atOnce: 6, ofLine: () => 3 }),
};
const places = slots[PLACES];

/**
 * Waits for the place of a long body, in the line of its request. The place is free again when the work on the request
 * has really ended, which may be long after its answer. Until there is a place to read it, a body stays unread in its
 * connection.
 * @throws HttpProblem 503 when no place is free within three seconds
 */
export async function takePlace(what: keyof typeof places): Promise<void> {
  // Outside a request there is no end at which to free the place.
  if (!isAbandonable()) return;
  holdUntilSettled(await places[what].enter({ name: currentLine() }, PATIENCE_MS).catch(refuse));
  throwIfAbandoned();
}

function refuse(): never {
  throw new HttpProblem("unavailable", {
    detail: "Too many long request bodies at once. Try again in a few seconds.",
    headers: { "retry-after": "2" },
  });
}
