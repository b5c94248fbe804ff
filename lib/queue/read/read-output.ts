import type { Database, TenantTransaction } from "@/lib/db";
import type { Attempt, LogEntry, LogStream, OutputPage, TenantScope } from "../types";
import { getJob, inTenant } from "./get-job";
import { PAGE_BYTES } from "./page-bytes";
import { listAttemptsSql, readLogsSql } from "./read-jobs.sql";

type AttemptRow = Omit<Attempt, "id" | "duration_ms" | "progress"> & {
  readonly progress: number | null;
  readonly progress_message: string | null;
  readonly has_older: boolean;
  readonly found: number;
  readonly row_no: number;
  readonly bytes: number;
};

/** An attempt, and whether its job has attempts before it. */
export type AttemptRead = Attempt & { readonly has_older: boolean };

export interface AttemptsPage {
  /** The most attempts of the page; default 50. */
  readonly limit?: number;
  /** Only attempts with a lower number. */
  readonly beforeNo?: number | undefined;
  /**
   * True also reads the tails of stdout and stderr, up to 384 KiB of characters per attempt; otherwise they are null.
   */
  readonly tails?: boolean;
}

/**
 * Lists a job's attempts over all its runs, latest first, including the running one; null if there is no such
 * job. The page ends before its texts exceed 512 KiB, but has at least one attempt. `has_older` of the last one is
 * true if more follow.
 */
export function listAttempts(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  jobId: string,
  { limit = 50, beforeNo, tails = false }: AttemptsPage = {},
): Promise<AttemptRead[] | null> {
  return inTenant(db, scope, async (tx) => {
    const which = [scope.tenantId, jobId, limit, beforeNo ?? null, tails];
    const rows = await tx.run<AttemptRow>(listAttemptsSql, [...which, PAGE_BYTES]);
    if (rows.length === 0 && (await getJob(tx, scope, jobId)) === null) return null;
    return rows.map(toAttempt);
  });
}

function toAttempt({
  progress,
  progress_message,
  found: _found,
  row_no: _rowNo,
  bytes: _bytes,
  ...row
}: AttemptRow): AttemptRead {
  const from = Date.parse(row.started_at ?? row.claimed_at);
  return {
    ...row,
    id: `${row.job_id}:${row.attempt_no}`,
    duration_ms: row.finished_at === null ? null : Math.max(0, Date.parse(row.finished_at) - from),
    progress: progress === null ? null : { percent: progress, message: progress_message },
  };
}

export interface LogPosition {
  readonly attempt?: number;
  /** Only output after this chunk. */
  readonly after?: { readonly attempt_no: number; readonly seq: number };
  readonly stream?: LogStream;
  readonly limit?: number;
}

type LogRow = LogEntry & { readonly found: number };

/**
 * Reads output of a job's attempts, oldest first; null if there is no such job. The page ends before its chunks exceed
 * 512 KiB, but has at least one. `hasMore` is true if more follow.
 */
export function readLogs(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  jobId: string,
  position: LogPosition = {},
): Promise<OutputPage | null> {
  return inTenant(db, scope, async (tx) => {
    const job = await getJob(tx, scope, jobId);
    if (job === null) return null;
    const limit = position.limit ?? 500;
    const rows = await tx.run<LogRow>(readLogsSql, [
      scope.tenantId,
      jobId,
      position.attempt ?? null,
      position.after?.attempt_no ?? 0,
      position.after?.seq ?? -1,
      position.stream ?? null,
      limit,
      PAGE_BYTES,
    ]);
    const lines = rows.map(({ found: _found, ...entry }) => entry);
    return { lines, hasMore: rows.length < (rows[0]?.found ?? 0), running: job.status === "running" };
  });
}
