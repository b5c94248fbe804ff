import { BoundedMap } from "@/lib/async/bounded-map";
import { DatabaseError } from "@/lib/db";
import { BULK_CHUNK, hasOpenActions, takeBulkAction, workOffChunk } from "@/lib/queue/scheduler";
import { mayStillAct } from "@/lib/tenancy/standing";
import type { Loop } from "./run-loops";

const SMALLER_BY = 10;
const LARGER_BY = 2;
/** An action whose size is dropped from the map starts with whole chunks again. */
const MOST_SIZES = 1000;
const STATEMENT_TIMEOUT = "57014";

/**
 * Works off one chunk of a bulk action. The tenant decides what a job of the action costs, so a chunk that takes too long
 * is undone, and the action continues in smaller chunks. It counts as a try of the action, which stops after its last
 * one. The next turn comes at once, because it may be another tenant's.
 */
export function bulkTurn(): Loop["turn"] {
  const sizes = new BoundedMap<string, number>(MOST_SIZES);
  return async ({ inTerm, db, web, leader, log }) => {
    const taken = (await hasOpenActions(db)) ? await inTerm((tx) => takeBulkAction(tx, leader.term)) : null;
    if (!taken) return { again: false };
    const limit = sizes.get(taken.id) ?? BULK_CHUNK;
    sizes.delete(taken.id);
    const takesTooLong = await workOffChunk(web, taken, mayStillAct, { limit }).then(
      () => false,
      (error: unknown) => {
        if (error instanceof DatabaseError && error.sqlState === STATEMENT_TIMEOUT) return true;
        throw error;
      },
    );
    const fields = { tenant_id: taken.tenantId, action_id: taken.id, jobs: limit };
    if (takesTooLong) log.warn(fields, "a chunk of a bulk action took too long, the next one is smaller");
    const next = takesTooLong ? Math.ceil(limit / SMALLER_BY) : limit * LARGER_BY;
    if (next < BULK_CHUNK) sizes.set(taken.id, next);
    return { again: true };
  };
}
