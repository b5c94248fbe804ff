import type { Database, TenantTransaction } from "@/lib/db";
import { getJob, inTenant } from "../read/get-job";
import { PAGE_BYTES } from "../read/page-bytes";
import type { Step, StepsPage, TenantScope } from "../types";
import { listStepsSql } from "./steps.sql";

const SHOWN_BYTES = 16 * 1024;
const PAGE_SIZE = 1000;

type StepRow = Omit<Step, "result_omitted"> & { readonly found: number };

interface StepPosition {
  readonly run_no: number;
  readonly name: string;
}

/**
 * Lists the steps that a job's attempts have stored, latest run first; null if there is no such job. A page has at most
 * 1,000 steps and ends before they exceed 512 KiB, but has at least one. `after` is the last step of the previous page.
 */
export function listSteps(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  jobId: string,
  after?: StepPosition,
): Promise<StepsPage | null> {
  return inTenant(db, scope, async (tx) => {
    const position = [after?.run_no ?? null, after?.name ?? null];
    const which = [scope.tenantId, jobId, SHOWN_BYTES, ...position, PAGE_SIZE, PAGE_BYTES];
    const rows = await tx.run<StepRow>(listStepsSql, which);
    if (rows.length === 0 && (await getJob(tx, scope, jobId)) === null) return null;
    const steps = rows.map(({ found: _found, ...row }) => ({ ...row, result_omitted: row.result_bytes > SHOWN_BYTES }));
    return { steps, hasMore: rows.length < (rows[0]?.found ?? 0) };
  });
}
