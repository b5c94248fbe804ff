import type { Database, TenantTransaction } from "@/lib/db";
import type { TerminalState } from "../states";
import type { JobSummary, TenantScope } from "../types";
import { inTenant } from "./get-job";
import { summarySql } from "./read-jobs.sql";

interface SummaryRow {
  ended: Partial<Record<TerminalState, number>>;
  queued: number;
  running: number;
  blocked: number;
  paused: number;
  as_of: string;
  oldest_queued_age_seconds: number | null;
}

/**
 * Returns a tenant's counts: live jobs at the moment, ended jobs of the last 24 hours (to the minute). Never
 * counts the history.
 */
export function summarizeJobs(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
): Promise<JobSummary> {
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<SummaryRow>(summarySql, [scope.tenantId]);
    if (!row) throw new Error("summary answered nothing");
    const ended = (status: TerminalState): number => row.ended[status] ?? 0;
    return {
      counts: {
        queued: row.queued,
        blocked: row.blocked,
        paused: row.paused,
        running: row.running,
        succeeded: ended("succeeded"),
        failed: ended("failed"),
        dead_letter: ended("dead_letter"),
        canceled: ended("canceled"),
        expired: ended("expired"),
      },
      oldest_queued_age_seconds: row.oldest_queued_age_seconds,
      running_count: row.running,
      as_of: row.as_of,
    };
  });
}
