import type { Database, Runner } from "@/lib/db";
import { QueueError } from "../errors";
import { endPauseSql, listPausesSql, pauseByIdSql, pauseTargetSql, setPauseSql } from "../sql/pauses";
import type { Actor, PauseInput, PauseScope, PauseView } from "../types";

interface PauseRow {
  id: string;
  scope: PauseScope;
  queue: string | null;
  definition_key: string | null;
  tenant: string | null;
  reason: string;
  paused_at: Date;
  paused_until: Date | null;
  paused_by: string | null;
}

/** The pauses that hold now, newest first. */
export async function listPauses(db: Runner): Promise<PauseView[]> {
  return (await db.run<PauseRow>(listPausesSql)).map(toPauseView);
}

/**
 * Pauses a queue, a definition, a tenant or everything: what runs goes on, nothing of it is started, and enqueueing
 * stays possible. A target that is paused already gets the new reason and end. With an end it goes on by itself.
 * @throws QueueError invalid-value for a target that does not exist, or an end that is not in the future
 */
export async function pause(db: Database, actor: Actor, input: PauseInput): Promise<PauseView> {
  return db.transaction(async (tx) => {
    const target = await findTarget(tx, input);
    const values = [input.reason, input.until ?? null, actor.userId];
    const [row] = await tx.run<{ id: string }>(setPauseSql, [input.scope, ...target, ...values]);
    const [paused] = await tx.run<PauseRow>(pauseByIdSql, [row?.id]);
    if (!paused) throw new Error("the pause that was just made is not there");
    if (paused.paused_until !== null && paused.paused_until <= paused.paused_at) {
      throw refused("/until", "past", "must be in the future");
    }
    return toPauseView(paused);
  });
}

/** Ends a pause now; its jobs may start again. @throws QueueError not-found, also for one whose end has passed */
export async function endPause(db: Database, pauseId: string): Promise<PauseView> {
  return db.transaction(async (tx) => {
    const [paused] = await tx.run<PauseRow>(pauseByIdSql, [pauseId]);
    const ended = await tx.run(endPauseSql, [pauseId]);
    if (!paused || ended.length === 0) throw new QueueError("not-found", "There is no such pause.");
    return toPauseView(paused);
  });
}

/** Queue, definition and tenant id, of which the scope takes at most one. */
async function findTarget(db: Runner, input: PauseInput): Promise<(string | number | null)[]> {
  const named = [input.queue, input.definitionKey, input.tenant].map((name) => name ?? null);
  const [ids] = await db.run<{ queue_id: number | null; definition_id: string | null; tenant_id: string | null }>(
    pauseTargetSql,
    named,
  );
  const target = [ids?.queue_id ?? null, ids?.definition_id ?? null, ids?.tenant_id ?? null];
  const at = ["/queue", "/definition_key", "/tenant"];
  const missing = target.findIndex((id, index) => named[index] !== null && id === null);
  if (missing >= 0) throw refused(at[missing] ?? "", "unknown", "does not exist");
  return target;
}

const refused = (pointer: string, code: string, detail: string): QueueError =>
  new QueueError("invalid-value", "The pause is not valid.", { problems: [{ pointer, code, detail }] });

function toPauseView(row: PauseRow): PauseView {
  return {
    id: row.id,
    scope: row.scope,
    queue: row.queue,
    definitionKey: row.definition_key,
    tenant: row.tenant,
    reason: row.reason,
    since: row.paused_at,
    until: row.paused_until,
    pausedBy: row.paused_by,
  };
}
