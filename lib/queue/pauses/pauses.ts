/**
 * Pauses: nothing of a queue, a definition, a tenant or the whole installation is started until the pause ends.
 * Running jobs continue, and jobs can still be enqueued. A pause with an end expires by itself. Claims check pauses in
 * SQL (`app.is_paused`, `notPaused` in `pauses.sql.ts`).
 * Start with `pause` and `endPause`.
 */
import type { Database, Runner } from "@/lib/db";
import { QueueError } from "../errors";
import { findTarget } from "../target";
import type { Actor, PauseInput, PauseScope, PauseView } from "../types";
import { endPauseSql, listPausesSql, pauseByIdSql, setPauseSql } from "./pauses.sql";

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

/** Lists the active pauses, newest first. */
export async function listPauses(db: Runner): Promise<PauseView[]> {
  return (await db.run<PauseRow>(listPausesSql)).map(toPauseView);
}

/**
 * Pauses a queue, a definition, a tenant or everything. Running jobs continue, no job of the target is started, and
 * jobs can still be enqueued.
 * A target that is already paused gets the new reason and end. A pause with an end expires by itself.
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
      throw pastEnd();
    }
    return toPauseView(paused);
  });
}

/** Ends a pause; its jobs may start again. @throws QueueError not-found, also for a pause whose end has passed */
export async function endPause(db: Database, pauseId: string): Promise<PauseView> {
  return db.transaction(async (tx) => {
    const [paused] = await tx.run<PauseRow>(pauseByIdSql, [pauseId]);
    const ended = await tx.run(endPauseSql, [pauseId]);
    if (!paused || ended.length === 0) throw new QueueError("not-found", "Pause not found.");
    return toPauseView(paused);
  });
}

const pastEnd = (): QueueError =>
  new QueueError("invalid-value", "The pause is not valid.", {
    problems: [{ pointer: "/until", code: "past", detail: "must be in the future" }],
  });

function toPauseView(row: PauseRow): PauseView {
  return {
    id: row.id,
    scope: row.scope,
    queue: row.queue,
    definition_key: row.definition_key,
    tenant: row.tenant,
    reason: row.reason,
    since: row.paused_at,
    until: row.paused_until,
    paused_by: row.paused_by,
  };
}
