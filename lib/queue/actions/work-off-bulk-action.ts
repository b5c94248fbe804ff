import { type Database, type Runner, type TenantTransaction, withTenant } from "@/lib/db";
import type { BulkActionName } from "../states";
import type { Actor, TenantScope } from "../types";
import { applyAction, type ChosenJobs } from "./apply-action";
import { countResults } from "./bulk-action.policy";
import {
  anyOpenActionSql,
  boundChunkSql,
  endBulkActionSql,
  LOWEST,
  lockBulkActionSql,
  storeChunkSql,
  takeBulkActionSql,
  takeSetAsideJobsSql,
} from "./bulk-actions.sql";
import { CANCEL } from "./cancel-job";
import { changeAction, PAUSE, RESUME } from "./change-jobs";
import { REDRIVE, RETRY } from "./retry-job";
import type { ActionResult, BulkTarget } from "./types";
import { nextJobs } from "./walk-jobs";

/** Jobs per transaction, at most. */
export const BULK_CHUNK = 1000;
/** Turns in a row that may fail before an action is stopped. */
const MAX_TRIES = 20;

export interface TakenAction {
  readonly id: string;
  readonly tenantId: string;
  readonly term: number;
}

export const hasOpenActions = async (db: Runner): Promise<boolean> =>
  (await db.run<{ is_open: boolean }>(anyOpenActionSql))[0]?.is_open === true;

/**
 * Selects the next action for the leader of this term; null if there is none, or if it was just stopped after too many
 * failures. Tenants take turns chunk by chunk, and so do the actions of one tenant, so neither a big action nor many
 * actions delay those of another tenant. Tenants that are `ahead` by some time wait for those that are ahead by less.
 */
export async function takeBulkAction(
  db: Runner,
  term: number,
  ahead: ReadonlyMap<string, number> = new Map(),
): Promise<TakenAction | null> {
  const [row] = await db.run<{ id: string; tenant_id: string; status: string }>(takeBulkActionSql, [
    term,
    MAX_TRIES,
    [...ahead.keys()],
    [...ahead.values()],
  ]);
  return row && row.status !== "stopped" ? { id: row.id, tenantId: row.tenant_id, term } : null;
}

/** Returns true if this actor may still do this in the tenant of the transaction. */
export type MayAct = (tx: TenantTransaction, action: BulkActionName, actor: Actor) => Promise<boolean>;

interface ActionRow {
  readonly action: BulkActionName;
  readonly priority: number | null;
  readonly scheduled_for: string | null;
  readonly target: BulkTarget;
  readonly next_before: string;
  readonly chunk_count: number;
  readonly actor_kind: Actor["kind"];
  readonly actor_id: string | null;
  readonly user_id: string | null;
  readonly request_id: string | null;
  readonly abort_requested: boolean;
}

/**
 * Processes one chunk of an action. Its results and the new position commit with it, so a crash loses and repeats
 * nothing. Does nothing if another term has taken the action. The actor's rights are checked first, in this
 * transaction, because an action must not outlive them. `db` is the web role's pool, so a chunk sees and may do what a
 * request of this tenant could. Returns how many milliseconds the changes took.
 * @throws DatabaseError timeout if a statement on `limit` jobs takes longer than two seconds; the chunk is undone
 */
export function workOffChunk(
  db: Database,
  taken: TakenAction,
  mayAct: MayAct,
  { limit = BULK_CHUNK }: { readonly limit?: number } = {},
): Promise<number> {
  return withTenant(db, taken.tenantId, async (tx) => {
    const key = [taken.tenantId, taken.id];
    const [row] = await tx.run<ActionRow>(lockBulkActionSql, [...key, taken.term]);
    if (!row) return 0;
    const actor: Actor = {
      kind: row.actor_kind,
      id: row.actor_id,
      userId: row.user_id,
      ...(row.request_id === null ? {} : { requestId: row.request_id }),
    };
    const end = async (status: string, reason: string | null) => {
      await tx.run(endBulkActionSql, [...key, status, reason]);
      return 0;
    };
    if (row.abort_requested) return end("aborted", null);
    if (!(await mayAct(tx, row.action, actor))) return end("stopped", "rights-lost");
    return doChunk(tx, { tenantId: taken.tenantId, actor }, { id: taken.id, row, limit });
  });
}

interface Progress {
  readonly id: string;
  readonly row: ActionRow;
  readonly limit: number;
}

interface Chunk {
  readonly ids: readonly string[];
  /** The position from which the walk continues; null if it is past all jobs. */
  readonly nextBefore: string | null;
  /** True if a job blocked by a parent is set aside for later, because the action may still reach its parent. */
  readonly maySetAside: boolean;
}

async function doChunk(tx: TenantTransaction, scope: TenantScope, progress: Progress): Promise<number> {
  const { id, row } = progress;
  const { ids, nextBefore, maySetAside } = await nextChunk(tx, scope, progress);
  const began = performance.now();
  await tx.run(boundChunkSql);
  const chosen = { jobIds: ids, reason: `bulk action ${id}` };
  const all = ids.length === 0 ? [] : await applyToChosen(tx, scope, row, chosen);
  const isBlocked = ({ code }: ActionResult) => maySetAside && code === "held-by-parent";
  const results = all.filter((result) => !isBlocked(result));
  const { done, skipped, failed } = countResults(results);
  await tx.run(storeChunkSql, [
    scope.tenantId,
    id,
    ids.length === 0 ? row.chunk_count : row.chunk_count + 1,
    results.map((result) => result.jobId),
    results.map((result) => result.code),
    nextBefore,
    done,
    skipped,
    failed,
    all.filter(isBlocked).map((result) => result.jobId),
  ]);
  return performance.now() - began;
}

// The walk from the newest job to the oldest meets a child before its parent. Jobs blocked by a parent are therefore
// set aside until the walk has ended; then the chunks are processed again, from the oldest jobs to the newest.
async function nextChunk(tx: TenantTransaction, scope: TenantScope, { id, row, limit }: Progress): Promise<Chunk> {
  if (row.next_before !== LOWEST) {
    const step = await nextJobs(tx, scope, row.target, { beforeId: row.next_before, limit });
    return { ...step, maySetAside: true };
  }
  const [setAside] = await tx.run<{ held_ids: string[] }>(takeSetAsideJobsSql, [scope.tenantId, id, limit]);
  return { ids: setAside?.held_ids ?? [], nextBefore: null, maySetAside: false };
}

function applyToChosen(
  tx: TenantTransaction,
  scope: TenantScope,
  row: ActionRow,
  chosen: ChosenJobs,
): Promise<ActionResult[]> {
  switch (row.action) {
    case "cancel":
      return applyAction(tx, scope, CANCEL, chosen);
    case "retry":
      return applyAction(tx, scope, RETRY, chosen);
    case "redrive":
      return applyAction(tx, scope, REDRIVE, chosen);
    case "pause":
      return applyAction(tx, scope, PAUSE, chosen);
    case "resume":
      return applyAction(tx, scope, RESUME, chosen);
    case "set_priority":
      return applyAction(tx, scope, changeAction({ priority: row.priority ?? 100 }), chosen);
    case "reschedule":
      return applyAction(
        tx,
        scope,
        changeAction({ scheduled_for: row.scheduled_for ?? "1970-01-01T00:00:00Z" }),
        chosen,
      );
  }
}
