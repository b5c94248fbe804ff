/**
 * Pauses: nothing of a queue, a definition, a tenant or the whole installation is started until the pause ends.
 * Running jobs continue, and jobs can still be enqueued. A pause with an end expires by itself. Claims check pauses in
 * SQL (`app.is_paused`, `notPaused` in `pauses.sql.ts`).
 * Start with `pause` and `endPause`.
 */
import { and, desc, eq, gt, isNull, ne, or, sql } from "drizzle-orm";
import { jobDefinitions, jobQueues, pauses, tenants } from "@/drizzle/schema";
import type { Database, Runner } from "@/lib/db";
import { QueueError } from "../errors";
import { findTarget } from "../target.drizzle";
import type { Actor, Pause, PauseInput, PauseScope } from "../types";

const LISTED = 1000;
const PAUSE = {
  id: pauses.id,
  scope: sql<PauseScope>`${pauses.scope}`,
  queue: jobQueues.name,
  definition_key: jobDefinitions.key,
  tenant: tenants.slug,
  reason: pauses.reason,
  since: pauses.paused_at,
  until: pauses.paused_until,
  paused_by: pauses.paused_by,
};

/** True for an active pause. A suspension is no pause: it begins and ends with the tenant's status. */
export const isActivePause = and(
  or(isNull(pauses.paused_until), gt(pauses.paused_until, sql`app.now()`)),
  ne(pauses.scope, "suspension"),
);

const selectPauses = ({ orm }: Runner) =>
  orm
    .select(PAUSE)
    .from(pauses)
    .leftJoin(jobQueues, eq(jobQueues.id, pauses.queue_id))
    .leftJoin(jobDefinitions, eq(jobDefinitions.id, pauses.definition_id))
    .leftJoin(tenants, eq(tenants.id, pauses.tenant_id));

/** Lists the active pauses, newest first. */
export function listPauses(db: Runner): Promise<Pause[]> {
  return selectPauses(db).where(isActivePause).orderBy(desc(pauses.paused_at), desc(pauses.id)).limit(LISTED);
}

/**
 * Pauses a queue, a definition, a tenant or everything. Running jobs continue, no job of the target is started, and
 * jobs can still be enqueued.
 * A target that is already paused gets the new reason and end. A pause with an end expires by itself.
 * @throws QueueError invalid-value for a target that does not exist, or an end that is not in the future
 */
export async function pause(db: Database, actor: Actor, input: PauseInput): Promise<Pause> {
  return db.transaction(async (tx) => {
    const target = await findTarget(tx, input);
    const set = { reason: input.reason, paused_until: input.until ?? null, paused_by: actor.userId };
    const [made] = await tx.orm
      .insert(pauses)
      .values({ scope: input.scope, ...target, ...set })
      .onConflictDoUpdate({
        target: [pauses.tenant_id, pauses.scope, pauses.queue_id, pauses.definition_id],
        set: { ...set, paused_at: sql`app.now()` },
      })
      .returning({
        id: pauses.id,
        is_past: sql<boolean>`coalesce(${pauses.paused_until} <= ${pauses.paused_at}, false)`,
      });
    if (!made || made.is_past) throw pastEnd();
    return pauseById(tx, made.id);
  });
}

/** Ends a pause; its jobs may start again. @throws QueueError not-found, also for a pause whose end has passed */
export async function endPause(db: Database, pauseId: string): Promise<Pause> {
  return db.transaction(async (tx) => {
    const paused = await pauseById(tx, pauseId);
    const ended = await tx.orm
      .delete(pauses)
      .where(and(eq(pauses.id, pauseId), isActivePause))
      .returning({ id: pauses.id });
    if (ended.length === 0) throw notThere();
    return paused;
  });
}

async function pauseById(db: Runner, id: string): Promise<Pause> {
  const [paused] = await selectPauses(db).where(eq(pauses.id, id));
  if (!paused) throw notThere();
  return paused;
}

const notThere = (): QueueError => new QueueError("not-found", "Pause not found.");

const pastEnd = (): QueueError =>
  new QueueError("invalid-value", "The pause is not valid.", {
    problems: [{ pointer: "/until", code: "past", detail: "must be in the future" }],
  });
