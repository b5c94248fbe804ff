import type { Database, Runner, Statement } from "@/lib/db";
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

/** All limits, in the order in which they were made. */
export async function listLimits(db: Runner): Promise<LimitView[]> {
  return (await db.run<LimitRow>(listLimitsSql)).map(toLimitView);
}

/**
 * Limits a queue, a definition, or either for one tenant or for each. Holds for every claim that begins after the
 * commit; what runs by then goes on. @throws QueueError limit-exists, invalid-value
 */
export async function createLimit(db: Database, input: LimitInput): Promise<LimitView> {
  return db.transaction(async (tx) => {
    const target = await findTarget(tx, input);
    const [row] = await tx.run<{ id: number }>(insertLimitSql, [input.scope, ...target, ...values(input)]);
    if (!row) throw new QueueError("limit-exists", "This target has a limit already; change that one.");
    return limitById(tx, row.id);
  });
}

/** Changes a limit, while jobs run: lowering it ends nothing. @throws QueueError not-found, invalid-value */
export async function updateLimit(
  db: Database,
  { id, patch }: { readonly id: number; readonly patch: Partial<LimitValues> },
): Promise<LimitView> {
  return db.transaction(async (tx) => {
    const { burst, ...current } = await limitById(tx, id, lockLimitSql);
    // A burst that nobody named follows the rate.
    const named = burst === defaultBurst(current.startsPerSecond) ? null : burst;
    await tx.run(updateLimitSql, [id, ...values({ ...current, burst: named, ...patch })]);
    return limitById(tx, id);
  });
}

/** Takes a limit away. @throws QueueError not-found */
export async function deleteLimit(db: Database, id: number): Promise<LimitView> {
  return db.transaction(async (tx) => {
    const limit = await limitById(tx, id);
    await tx.run(deleteLimitSql, [id]);
    await tx.run(deleteBucketsSql, [id]);
    return limit;
  });
}

async function limitById(db: Runner, id: number, by: Statement = limitByIdSql): Promise<LimitView> {
  const [row] = await db.run<LimitRow>(by, [id]);
  if (!row) throw new QueueError("not-found", "There is no such limit.");
  return toLimitView(row);
}

/** In the order of the columns in insertLimitSql. Either number alone is a limit; neither is none. */
function values({ maxRunning, startsPerSecond, burst }: Partial<LimitValues>): (number | null)[] {
  const rate = startsPerSecond ?? null;
  if ((maxRunning ?? null) === null && rate === null) {
    throw new QueueError("invalid-value", "The limit limits nothing.", {
      problems: [{ pointer: "/max_running", code: "required", detail: "is required, or starts_per_second" }],
    });
  }
  return [maxRunning ?? null, rate, rate === null ? null : (burst ?? defaultBurst(rate))];
}

/** Without a burst, what a second gives may come at once. */
const defaultBurst = (rate: number | null): number | null => (rate === null ? null : Math.max(1, Math.ceil(rate)));

function toLimitView(row: LimitRow): LimitView {
  return {
    id: row.id,
    scope: row.scope,
    queue: row.queue,
    definitionKey: row.definition_key,
    tenant: row.tenant,
    maxRunning: row.max_running,
    startsPerSecond: row.starts_per_second,
    burst: row.burst,
    limitedAt: row.limited_at,
    limitedBy: row.limited_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
