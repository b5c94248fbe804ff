import type { Runner } from "@/lib/db";
import { QueueError } from "./errors";
import { targetSql } from "./target.sql";

/** The target of a pause or a limit, by name. */
export interface NamedTarget {
  readonly queue?: string;
  readonly definitionKey?: string;
  /** Id or slug. */
  readonly tenant?: string;
}

interface TargetRow {
  queue_id: number | null;
  definition_id: string | null;
  tenant_id: string | null;
}

const POINTERS = ["/queue", "/definition_key", "/tenant"];

/**
 * Returns the ids of queue, definition and tenant, null for those not named. @throws QueueError invalid-value for
 * an unknown name
 */
export async function findTarget(db: Runner, target: NamedTarget): Promise<(string | number | null)[]> {
  const named = [target.queue ?? null, target.definitionKey ?? null, target.tenant ?? null];
  const [row] = await db.run<TargetRow>(targetSql, named);
  const ids = [row?.queue_id ?? null, row?.definition_id ?? null, row?.tenant_id ?? null];
  const missing = ids.findIndex((id, index) => named[index] !== null && id === null);
  if (missing < 0) return ids;
  throw new QueueError("invalid-value", "Target not found.", {
    problems: [{ pointer: POINTERS[missing] ?? "", code: "unknown", detail: "does not exist" }],
  });
}
