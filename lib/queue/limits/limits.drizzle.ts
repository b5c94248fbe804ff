/**
 * Limits: how many jobs of a queue or definition run at once or start per second, for all tenants or for one.
 * A limit is enforced across all workers, and running jobs are never affected. Claims enforce limits in SQL
 * (`drizzle/functions/limits.sql`): `app.limits_on` finds the limits of a lane, and `app.reserve_slots` counts.
 * Start with `createLimit`; this room only stores limits, lists them, and keeps the condition `limitCounts`.
 */
import { asc, eq, sql } from "drizzle-orm";
import { jobDefinitions, jobQueues, concurrencyLimits as limits, startBuckets, tenants } from "@/drizzle/schema";
import { columnsOf, type Database, type Runner } from "@/lib/db";
import { QueueError } from "../errors";
import { findTarget } from "../target.drizzle";
import type { Limit, LimitInput, LimitValues } from "../types";

const LISTED = 5000;
const LIMIT = {
  ...columnsOf(limits, "id", "max_running", "starts_per_second", "burst", "limited_at", "created_at", "updated_at"),
  scope: sql<Limit["scope"]>`${limits.scope}`,
  limited_by: sql<Limit["limited_by"]>`${limits.limited_by}`,
  queue: jobQueues.name,
  definition_key: jobDefinitions.key,
  tenant: tenants.slug,
};

const selectLimits = ({ orm }: Runner) =>
  orm
    .select(LIMIT)
    .from(limits)
    .leftJoin(jobQueues, eq(jobQueues.id, limits.queue_id))
    .leftJoin(jobDefinitions, eq(jobDefinitions.id, limits.definition_id))
    .leftJoin(tenants, eq(tenants.id, limits.tenant_id));

/** Lists all limits in the order of their creation. */
export function listLimits(db: Runner): Promise<Limit[]> {
  return selectLimits(db).orderBy(asc(limits.id)).limit(LISTED);
}

/**
 * Creates a limit for a queue or a definition, for all tenants together, one tenant, or each tenant.
 * The limit applies to every claim that begins after the commit. Running jobs are not affected.
 * @throws QueueError limit-exists, invalid-value
 */
export async function createLimit(db: Database, input: LimitInput): Promise<Limit> {
  return db.transaction(async (tx) => {
    const target = await findTarget(tx, input);
    const [made] = await tx.orm
      .insert(limits)
      .values({ scope: input.scope, ...target, ...withBurst(input) })
      .onConflictDoNothing({ target: [limits.tenant_id, limits.scope, limits.queue_id, limits.definition_id] })
      .returning({ id: limits.id });
    if (!made) throw new QueueError("limit-exists", "This target has a limit already; change that one.");
    return limitById(tx, made.id);
  });
}

/** Changes a limit. Lowering a limit does not stop running jobs. @throws QueueError not-found, invalid-value */
export async function updateLimit(
  db: Database,
  { id, patch }: { readonly id: number; readonly patch: Partial<LimitValues> },
): Promise<Limit> {
  return db.transaction(async (tx) => {
    // Concurrent changes of a limit run one after the other, so none is lost.
    await tx.orm.select({ id: limits.id }).from(limits).where(eq(limits.id, id)).for("update");
    const { burst, max_running, starts_per_second } = await limitById(tx, id);
    // A burst that was never set follows the rate.
    const named = burst === defaultBurst(starts_per_second) ? null : burst;
    const values = withBurst({ max_running, starts_per_second, burst: named, ...patch });
    await tx.orm
      .update(limits)
      .set({ ...values, updated_at: sql`app.now()` })
      .where(eq(limits.id, id));
    return limitById(tx, id);
  });
}

/** Deletes a limit and its tokens. @throws QueueError not-found */
export async function deleteLimit(db: Database, id: number): Promise<Limit> {
  return db.transaction(async (tx) => {
    const limit = await limitById(tx, id);
    await tx.orm.delete(limits).where(eq(limits.id, id));
    await tx.orm.delete(startBuckets).where(eq(startBuckets.limit_id, id));
    return limit;
  });
}

async function limitById(db: Runner, id: number): Promise<Limit> {
  const [limit] = await selectLimits(db).where(eq(limits.id, id));
  if (!limit) throw new QueueError("not-found", "Limit not found.");
  return limit;
}

/** The values of a limit. At least one of `max_running` and `starts_per_second` is required. */
function withBurst({ max_running = null, starts_per_second = null, burst = null }: Partial<LimitValues>): LimitValues {
  if (max_running === null && starts_per_second === null) {
    throw new QueueError("invalid-value", "The limit has no bound.", {
      problems: [{ pointer: "/max_running", code: "required", detail: "is required, or starts_per_second" }],
    });
  }
  return {
    max_running,
    starts_per_second,
    burst: starts_per_second === null ? null : (burst ?? defaultBurst(starts_per_second)),
  };
}

/** Without a burst, one second's worth of starts may begin at once. */
const defaultBurst = (rate: number | null): number | null => (rate === null ? null : Math.max(1, Math.ceil(rate)));
