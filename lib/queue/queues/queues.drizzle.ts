/**
 * Queues: named groups of jobs with default settings, a weight, and a switch that stops new jobs.
 * A change applies to jobs enqueued and started after the commit.
 * types.ts also has the shapes of pauses, limits and workers.
 * Start with `createQueue` and `listQueues`.
 */
import { and, asc, eq, or, type SQL, sql } from "drizzle-orm";
import { jobQueues, pauses } from "@/drizzle/schema";
import { columnsOf, type Database, type Runner, type TenantTransaction } from "@/lib/db";
import { QueueError } from "../errors";
import { isActivePause } from "../pauses/pauses.drizzle";
import { inTenant } from "../read/get-job";
import type { PauseScope, Queue, QueueInput, QueuePatch, TenantScope } from "../types";

const LISTED = 1000;
const QUEUE = {
  ...columnsOf(jobQueues, "id", "name", "description", "default_priority", "timeout_seconds", "max_attempts"),
  ...columnsOf(jobQueues, "retry_delay_seconds", "retry_multiplier", "weight", "is_active", "created_at", "updated_at"),
};

/** Lists all queues by name, with their active pause. */
export const listQueues = (db: Runner): Promise<Queue[]> => read(db, {});

/** Lists the queues that accept jobs, from the view of one tenant: its own pause also counts. */
export function listTenantQueues(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
): Promise<Queue[]> {
  return inTenant(db, scope, (tx) => read(tx, { of: eq(jobQueues.is_active, true), tenantId: scope.tenantId }));
}

/** Creates a queue. @throws QueueError queue-exists */
export async function createQueue(db: Database, input: QueueInput): Promise<Queue> {
  return db.transaction(async (tx) => {
    const [made] = await tx.orm.insert(jobQueues).values(input).onConflictDoNothing().returning({ id: jobQueues.id });
    if (!made) throw new QueueError("queue-exists", "A queue with this name exists.");
    return queueById(tx, made.id);
  });
}

/** Changes a queue for jobs enqueued and started from now on. @throws QueueError not-found */
export async function updateQueue(
  db: Database,
  { id, patch }: { readonly id: number; readonly patch: QueuePatch },
): Promise<Queue> {
  return db.transaction(async (tx) => {
    await tx.orm
      .update(jobQueues)
      .set({ ...patch, version: sql`${jobQueues.version} + 1`, updated_at: sql`app.now()` })
      .where(eq(jobQueues.id, id));
    return queueById(tx, id);
  });
}

async function queueById(db: Runner, id: number): Promise<Queue> {
  const [queue] = await read(db, { of: eq(jobQueues.id, id) });
  if (!queue) throw new QueueError("not-found", "Queue not found.");
  return queue;
}

/** Reads queues, each with the pause that keeps its jobs from starting. A tenant's own pause counts for that tenant. */
async function read({ orm }: Runner, { of, tenantId }: { of?: SQL; tenantId?: string }): Promise<Queue[]> {
  const applies = or(
    eq(pauses.scope, "all"),
    eq(pauses.queue_id, jobQueues.id),
    tenantId === undefined ? undefined : eq(pauses.tenant_id, tenantId),
  );
  const active = orm
    .select({ scope: pauses.scope, reason: pauses.reason, since: pauses.paused_at, until: pauses.paused_until })
    .from(pauses)
    .where(and(isActivePause, applies))
    .orderBy(sql`${pauses.scope} <> 'all'`, sql`${pauses.scope} <> 'tenant'`)
    .limit(1)
    .as("active");
  const rows = await orm
    .select({
      queue: QUEUE,
      pause: {
        scope: sql<PauseScope>`${active.scope}`,
        reason: active.reason,
        since: active.since,
        until: active.until,
      },
    })
    .from(jobQueues)
    .leftJoinLateral(active, sql`true`)
    .where(of)
    .orderBy(asc(jobQueues.name))
    .limit(LISTED);
  // A queue that is not paused has nulls here.
  return rows.map(({ queue, pause }) => ({ ...queue, pause: pause?.scope ? pause : null }));
}
