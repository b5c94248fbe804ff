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
  /** By tenant, beginning after `after`, each tenant's oldest first. */
  readonly rows: readonly DueRow[];
  /** The `after` of the next turn, given the tenants whose triggers had their turn, in their order. */
  readonly nextAfter: (served: readonly string[]) => string | undefined;
}

const START = "00000000-0000-0000-0000-000000000000";
/** Templates that a transaction reads: what is parsed in one step holds the event loop. */
const TEMPLATE_BYTES = 512 * 1024;
/** Tenants with schedules that a turn looks at to find those that have one due. */
const LOOKS_AT_TENANTS = 1000;

/**
 * Locks at most `limit` schedules that are due. If more are due, each tenant that is found gets the same number of them,
 * and the oldest of all tenants take the rest. The cost is bounded, however many schedules are due and however many tenants
 * there are: a turn looks at some of the tenants, and the next turn at those after them.
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
  /** Tenants with a schedule due, in the order of their turns; empty if one turn takes all that is due. */
  readonly tenants: readonly string[];
  /** The last tenant that was looked at; null = all were. */
  readonly through: string | null;
}

async function lookAtTenants(tx: Transaction, values: readonly [string, number, number]): Promise<LookedAt> {
  const [row] = await tx.run<{ tenants: string[] | null; through: string | null }>(dueTenantsSql, values);
  return { tenants: row?.tenants ?? [], through: row?.through ?? null };
}

/**
 * The next turn begins behind the tenants that were looked at, or behind the last that had its turn if the turn ended before
 * others had theirs.
 */
function nextAfter({ tenants, through }: LookedAt, served: readonly string[]): string | undefined {
  const had = new Set(served);
  const missed = tenants.some((tenant) => !had.has(tenant));
  const last = missed ? tenants.findLast((tenant) => had.has(tenant)) : undefined;
  return last ?? through ?? served.at(-1);
}
