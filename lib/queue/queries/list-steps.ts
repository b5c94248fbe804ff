import type { Database, TenantTransaction } from "@/lib/db";
import { listStepsSql } from "../sql/steps";
import type { StepView, TenantScope } from "../types";
import { getJob, inTenant } from "./get-job";

const SHOWN_BYTES = 16 * 1024;

interface StepRow {
  run_no: number;
  name: string;
  attempt_no: number;
  created_at: Date;
  result_bytes: number;
  result: unknown;
}

/** The steps that a job's attempts have stored, latest run first; null when there is no such job. */
export function listSteps(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  jobId: string,
): Promise<StepView[] | null> {
  return inTenant(db, scope, async (tx) => {
    const rows = await tx.run<StepRow>(listStepsSql, [scope.tenantId, jobId, SHOWN_BYTES]);
    if (rows.length === 0 && (await getJob(tx, scope, jobId)) === null) return null;
    return rows.map((row) => ({
      name: row.name,
      runNo: row.run_no,
      attemptNo: Number(row.attempt_no),
      createdAt: row.created_at,
      resultBytes: row.result_bytes,
      result: row.result,
      isShown: row.result_bytes <= SHOWN_BYTES,
    }));
  });
}
