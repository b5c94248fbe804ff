import { BoundedMap } from "@/lib/async/bounded-map";
import { DatabaseError } from "@/lib/db";
import { BULK_CHUNK, hasOpenActions, takeBulkAction, workOffChunk } from "@/lib/queue/scheduler";
import { mayStillAct } from "@/lib/tenancy/standing";
import { nextChunkSize } from "./chunk-size";
import type { Loop } from "./run-loops";
import { TimeAhead } from "./time-ahead";

/** An action whose size is dropped from the map starts with whole chunks again. */
const MOST_SIZES = 1000;
const STATEMENT_TIMEOUT = "57014";

/**
 * Works off one chunk of a bulk action. The cost of a job varies from action to action, so the size of the next chunk
 * follows the duration of this one. A tenant waits until chunks of other tenants took as much time as its own. A chunk
 * that takes too long is rolled back. It counts as a try of the action, which stops after its last try.
 */
export function bulkTurn(): Loop["turn"] {
  const sizes = new BoundedMap<string, number>(MOST_SIZES);
  const ahead = new TimeAhead();
  return async ({ inTerm, db, web, leader, log }) => {
    const taken = (await hasOpenActions(db))
      ? await inTerm((tx) => takeBulkAction(tx, leader.term, ahead.all()))
      : null;
    if (!taken) return { again: false };
    const limit = sizes.get(taken.id) ?? BULK_CHUNK;
    sizes.delete(taken.id);
    const began = performance.now();
    const tookMs = await workOffChunk(web, taken, mayStillAct, { limit })
      .catch((error: unknown) => {
        if (error instanceof DatabaseError && error.sqlState === STATEMENT_TIMEOUT) return null;
        throw error;
      })
      .finally(() => ahead.took(taken.tenantId, performance.now() - began));
    const fields = { tenant_id: taken.tenantId, action_id: taken.id, jobs: limit };
    if (tookMs === null) log.warn(fields, "a chunk of a bulk action took too long, the next one is smaller");
    const next = nextChunkSize(limit, tookMs);
    if (next < BULK_CHUNK) sizes.set(taken.id, next);
    return { again: true };
  };
}
