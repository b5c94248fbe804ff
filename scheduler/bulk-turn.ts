import { DatabaseError } from "@/lib/db";
import { BULK_CHUNK, hasOpenActions, takeBulkAction, workOffChunk } from "@/lib/queue/scheduler";
import { mayStillAct } from "@/lib/tenancy/standing";
import type { Loop } from "./run-loops";

const SMALLER_BY = 10;
const LARGER_BY = 2;
/** Sizes that are remembered. An action whose size is forgotten begins with whole chunks again. */
const MOST_SIZES = 1000;
const STATEMENT_TIMEOUT = "57014";

/**
 * Works off one chunk of a bulk action. What one job of an action costs is up to its tenant, so a chunk that takes too long is
 * undone, and the action goes on in smaller ones. The next turn comes at once, because it may be another tenant's.
 */
export function bulkTurn(): Loop["turn"] {
  const sizes = new Map<string, number>();
  return async ({ inTerm, db, web, leader, log }) => {
    const taken = (await hasOpenActions(db)) ? await inTerm((tx) => takeBulkAction(tx, leader.term)) : null;
    if (!taken) return { again: false };
    const limit = sizes.get(taken.id) ?? BULK_CHUNK;
    sizes.delete(taken.id);
    if (sizes.size >= MOST_SIZES) sizes.clear();
    const takesTooLong = await workOffChunk(web, taken, mayStillAct, { limit }).then(
      () => false,
      (error: unknown) => {
        if (error instanceof DatabaseError && error.sqlState === STATEMENT_TIMEOUT) return true;
        throw error;
      },
    );
    const fields = { tenant_id: taken.tenantId, action_id: taken.id, jobs: limit };
    if (takesTooLong) log.warn(fields, "a part of a bulk action takes too long; the next one is smaller");
    const next = takesTooLong ? Math.ceil(limit / SMALLER_BY) : limit * LARGER_BY;
    if (next < BULK_CHUNK) sizes.set(taken.id, next);
    return { again: true };
  };
}
