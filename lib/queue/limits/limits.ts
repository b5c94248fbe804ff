/**
 * Limits: how many jobs of a queue or definition run at once or start per second, for all tenants or for one.
 * A limit is enforced across all workers, and running jobs are never affected. Claims enforce limits in SQL
 * (`drizzle/functions/limits.sql`).
 * Start with `createLimit`; this room only stores limits and lists them.
 */
import type { Database, Runner } from "@/lib/db";
import { QueueError } from "../errors";
import { findTarget } from "../target";
import type { LimitInput, LimitScope, LimitValues, LimitView } from "../types";
import {
  deleteBucketsSql,
  deleteLimitSql,
  insertLimitSql,
  limitByIdSql,
  listLimitsSql,
  lockLimitSql,
  updateLimitSql,
} from "./limits.sql";

interface LimitRow {
  id: number;
  scope: LimitScope;
  queue: string | null;
  definition_key: string | null;
  tenant: string | null;
  max_running: number | null;
  starts_per_second: number | null;
  burst: number | null;
  limited_at: Date | null;
  limited_by: "running" | "rate" | null;
  created_at: Date;
  updated_at: Date;
}

/** Lists all limits in the order of their creation. */
export async function listLimits(db: Runner): Promise<LimitView[]> {
  return (await db.run<LimitRow>(listLimitsSql)).map(toLimitView);
}

/**
 * Creates a limit for a queue or a definition, for all tenants together, one tenant, or each tenant.
 * The limit applies to every claim that begins after the commit. Running jobs are not affected.
 * @throws QueueError limit-exists, invalid-value
 */
export async function createLimit(db: Database, input: LimitInput): Promise<LimitView> {
  return db.transaction(async (tx) => {
    const target = await findTarget(tx, input);
    const [row] = await tx.run<{ id: number }>(insertLimitSql, [input.scope, ...target, ...values(input)]);
    if (!row) throw new QueueError("limit-exists", "This target has a limit already; change that one.");
    return limitById(tx, row.id);
  });
}

/** Changes a limit. Lowering a limit does not stop running jobs. @throws QueueError not-found, invalid-value */
export async function updateLimit(
  db: Database,
  { id, patch }: { readonly id: number; readonly patch: Partial<LimitValues> },
): Promise<LimitView> {
  return db.transaction(async (tx) => {
    const { burst, ...current } = await limitById(tx, id, { lock: true });
    // A burst that was never set follows the rate.
    const named = burst === defaultBurst(current.starts_per_second) ? null : burst;
    await tx.run(updateLimitSql, [id, ...values({ ...current, burst: named, ...patch })]);
    return limitById(tx, id);
  });
}

/** Deletes a limit. @throws QueueError not-found */
export async function deleteLimit(db: Database, id: number): Promise<LimitView> {
  return db.transaction(async (tx) => {
    const limit = await limitById(tx, id);
    await tx.run(deleteLimitSql, [id]);
    await tx.run(deleteBucketsSql, [id]);
    return limit;
  });
}

async function limitById(db: Runner, id: number, { lock = false } = {}): Promise<LimitView> {
  const [row] = await db.run<LimitRow>(lock ? lockLimitSql : limitByIdSql, [id]);
  if (!row) throw new QueueError("not-found", "Limit not found.");
  return toLimitView(row);
}

/** The values in the order of the columns in insertLimitSql. At least one of the two numbers is required. */
function values({ max_running: maxRunning, starts_per_second: startsPerSecond, burst }: Partial<LimitValues>): (number | null)[] {
  const rate = startsPerSecond ?? null;
  if ((maxRunning ?? null) === null && rate === null) {
    throw new QueueError("invalid-value", "The limit has no bound.", {
      problems: [{ pointer: "/max_running", code: "required", detail: "is required, or starts_per_second" }],
    });
  }
  return [maxRunning ?? null, rate, rate === null ? null : (burst ?? defaultBurst(rate))];
}

/** Without a burst, one second's worth of starts may begin at once. */
const defaultBurst = (rate: number | null): number | null => (rate === null ? null : Math.max(1, Math.ceil(rate)));

function toLimitView(row: LimitRow): LimitView {
  return {
    id: row.id,
    scope: row.scope,
    queue: row.queue,
    definition_key: row.definition_key,
    tenant: row.tenant,
    max_running: row.max_running,
    starts_per_second: row.starts_per_second,
    burst: row.burst,
    limited_at: row.limited_at,
    limited_by: row.limited_by,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
