import type { Transaction } from "@/lib/db";
import type { CatchUpPolicy } from "../types";
import { dueTenantsSql, lockDueTriggersSql } from "./fire-due-schedules.sql";
import type { DueTrigger } from "./plan-firing.policy";

export interface DueRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly label: string;
  readonly queue: string | null;
  readonly priority: number | null;
  readonly payload_template: unknown;
  readonly schedule_type: string | null;
  readonly cron_expr: string | null;
  readonly interval_ms: number | null;
  readonly anchor_at: Date | null;
  readonly once_at: Date | null;
  readonly timezone: string | null;
  readonly overlap_policy: DueTrigger["overlapPolicy"];
  readonly catch_up: CatchUpPolicy;
  readonly catch_up_limit: number;
  readonly dst_gap: string | null;
  readonly dst_overlap: string | null;
  readonly jitter_seconds: number;
  readonly max_runs: number | null;
  readonly expires_at: Date | null;
  readonly run_count: number;
  readonly next_run_at: Date;
  readonly following_run_at: Date | null;
  readonly updated_at: Date;
  readonly status: DueTrigger["status"];
  readonly status_reason: string | null;
  readonly definition_key: string | null;
  readonly definition_is_active: boolean | null;
  readonly tenant_is_active: boolean | null;
  readonly queue_is_active: boolean;
  readonly now: Date;
}

interface DueTriggers {
  /** Ordered by tenant, beginning after `after`; each tenant's oldest first. */
  readonly rows: readonly DueRow[];
  /** Returns the `after` of the next turn, given the tenants whose triggers had their turn, in that order. */
  readonly nextAfter: (served: readonly string[]) => string | undefined;
}

const START = "00000000-0000-0000-0000-000000000000";
/** The most template bytes that a transaction reads, because parsing them blocks the event loop. */
const TEMPLATE_BYTES = 512 * 1024;
/** The most tenants with schedules that a turn checks for due schedules. */
const LOOKS_AT_TENANTS = 1000;

/**
 * Locks at most `limit` due schedules. If more are due, each tenant that is found gets the same number, and the oldest
 * of all tenants take the rest.
 * The cost does not depend on the number of due schedules or tenants. A turn checks some of the tenants, and the next
 * turn continues with those after them.
 */
export async function takeDueTriggers(
  tx: Transaction,
  { limit, after = START }: { readonly limit: number; readonly after?: string | undefined },
): Promise<DueTriggers> {
  const looked = await lookAtTenants(tx, [after, limit, LOOKS_AT_TENANTS]);
  const each = Math.floor(limit / Math.max(1, looked.tenants.length));
  const rows = await tx.run<DueRow>(lockDueTriggersSql, [limit, TEMPLATE_BYTES, looked.tenants, each, after]);
  return { rows, nextAfter: (served) => nextAfter(looked, served) };
}

interface LookedAt {
  /** Tenants with a due schedule, in the order of their turns; empty if one turn takes all due schedules. */
  readonly tenants: readonly string[];
  /** The last tenant that was checked; null = all were. */
  readonly through: string | null;
}

async function lookAtTenants(tx: Transaction, values: readonly [string, number, number]): Promise<LookedAt> {
  const [row] = await tx.run<{ tenants: string[] | null; through: string | null }>(dueTenantsSql, values);
  return { tenants: row?.tenants ?? [], through: row?.through ?? null };
}

/**
 * The next turn begins after the tenants that were checked. If the turn ended before some of them had theirs, it begins
 * after the last tenant that had its turn.
 */
function nextAfter({ tenants, through }: LookedAt, served: readonly string[]): string | undefined {
  const had = new Set(served);
  const missed = tenants.some((tenant) => !had.has(tenant));
  const last = missed ? tenants.findLast((tenant) => had.has(tenant)) : undefined;
  return last ?? through ?? served.at(-1);
}
