/**
 * Queues: named groups of jobs with default settings, a weight, and a switch that stops new jobs.
 * A change applies to jobs enqueued and started after the commit.
 * types.ts also has the shapes of pauses, limits and workers.
 * Start with `createQueue` and `listQueues`.
 */
import type { Database, Runner, TenantTransaction } from "@/lib/db";
import { QueueError } from "../errors";
import { inTenant } from "../read/get-job";
import type { PauseScope, QueueInput, QueuePatch, QueueView, TenantScope } from "../types";
import { insertQueueSql, listQueueSettingsSql, lockQueueSql, updateQueueSql } from "./queues.sql";

interface QueueRow {
  id: number;
  name: string;
  description: string;
  default_priority: number;
  timeout_seconds: number | null;
  max_attempts: number | null;
  retry_delay_seconds: number | null;
  retry_multiplier: number | null;
  weight: number;
  is_active: boolean;
  version: number;
  created_at: Date;
  updated_at: Date;
  pause: { scope: PauseScope; reason: string; since: string; until: string | null } | null;
}

const DEFAULTS = {
  description: "",
  defaultPriority: 100,
  timeoutSeconds: null,
  maxAttempts: null,
  retryDelaySeconds: null,
  retryMultiplier: null,
  weight: 1,
  isActive: true,
} as const;

/** Lists all queues by name, with their active pause. */
export async function listQueues(db: Runner): Promise<QueueView[]> {
  return (await db.run<QueueRow>(listQueueSettingsSql, [null])).map(toQueueView);
}

/** Lists the queues that accept jobs, from the view of one tenant: its own pause also counts. */
export function listTenantQueues(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
): Promise<QueueView[]> {
  return inTenant(db, scope, async (tx) => {
    const rows = await tx.run<QueueRow>(listQueueSettingsSql, [scope.tenantId]);
    return rows.filter((row) => row.is_active).map(toQueueView);
  });
}

/** Creates a queue. @throws QueueError queue-exists */
export async function createQueue(db: Database, input: QueueInput): Promise<QueueView> {
  return db.transaction(async (tx) => {
    const [row] = await tx.run<{ id: number }>(insertQueueSql, values(input.name, { ...DEFAULTS, ...input }));
    if (!row) throw new QueueError("queue-exists", "A queue with this name exists.");
    return queueById(tx, row.id);
  });
}

/** Changes a queue for jobs enqueued and started from now on. @throws QueueError not-found */
export async function updateQueue(
  db: Database,
  { id, patch }: { readonly id: number; readonly patch: QueuePatch },
): Promise<QueueView> {
  return db.transaction(async (tx) => {
    const current = await queueById(tx, id);
    await tx.run(updateQueueSql, values(current.name, { ...current, ...patch }));
    return queueById(tx, id);
  });
}

async function queueById(db: Runner, id: number): Promise<QueueView> {
  const [row] = await db.run<QueueRow>(lockQueueSql, [id]);
  if (!row) throw new QueueError("not-found", "Queue not found.");
  return toQueueView(row);
}

/** The values in the order of the columns in insertQueueSql. */
function values(name: string, queue: Required<Omit<QueueInput, "name">>): unknown[] {
  return [
    name,
    queue.description,
    queue.default_priority,
    queue.timeout_seconds,
    queue.max_attempts,
    queue.retry_delay_seconds,
    queue.retry_multiplier,
    queue.weight,
    queue.is_active,
  ];
}

function toQueueView(row: QueueRow): QueueView {
  const { pause } = row;
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    default_priority: row.default_priority,
    timeout_seconds: row.timeout_seconds,
    max_attempts: row.max_attempts,
    retry_delay_seconds: row.retry_delay_seconds,
    retry_multiplier: row.retry_multiplier,
    weight: row.weight,
    is_active: row.is_active,
    pause: pause && {
      scope: pause.scope,
      reason: pause.reason,
      since: new Date(pause.since),
      until: pause.until === null ? null : new Date(pause.until),
    },
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
