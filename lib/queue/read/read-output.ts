import type { Database, TenantTransaction } from "@/lib/db";
import type { AttemptStatus } from "../states";
import type { AttemptView, LogLevel, LogPage, LogStream, TenantScope } from "../types";
import { getJob, inTenant } from "./get-job";
import { PAGE_BYTES } from "./page-bytes";
import { listAttemptsSql, readLogsSql } from "./read-jobs.sql";

interface AttemptRow {
  job_id: string;
  attempt_no: number;
  run_no: number;
  status: AttemptStatus | "running";
  worker_id: string;
  claimed_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  pid: number | null;
  exit_code: number | null;
  signal: string | null;
  error_type: string | null;
  error_text: string | null;
  stdout_tail: string | null;
  stderr_tail: string | null;
  stdout_bytes: number | null;
  stderr_bytes: number | null;
  dropped_bytes: number | null;
  cpu_ms: number | null;
  peak_rss_bytes: number | null;
  retry_at: Date | null;
  progress: number | null;
  progress_message: string | null;
  has_older: boolean;
}

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
 * job. The page ends before its texts exceed 512 KiB, but has at least one attempt. `hasOlder` of the last one is
 * true if more follow.
 */
export function listAttempts(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  jobId: string,
  { limit = 50, beforeNo, tails = false }: AttemptsPage = {},
): Promise<AttemptView[] | null> {
  return inTenant(db, scope, async (tx) => {
    const which = [scope.tenantId, jobId, limit, beforeNo ?? null, tails];
    const rows = await tx.run<AttemptRow>(listAttemptsSql, [...which, PAGE_BYTES]);
    if (rows.length === 0 && (await getJob(tx, scope, jobId)) === null) return null;
    return rows.map(toAttempt);
  });
}

function toAttempt(row: AttemptRow): AttemptView {
  const from = row.started_at ?? row.claimed_at;
  return {
    job_id: row.job_id,
    attempt_no: row.attempt_no,
    run_no: row.run_no,
    status: row.status,
    worker_id: row.worker_id,
    claimed_at: row.claimed_at,
    started_at: row.started_at,
    finished_at: row.finished_at,
    duration_ms: row.finished_at === null ? null : Math.max(0, row.finished_at.getTime() - from.getTime()),
    pid: row.pid,
    exit_code: row.exit_code,
    signal: row.signal,
    error_type: row.error_type,
    error_text: row.error_text,
    stdout_tail: row.stdout_tail,
    stderr_tail: row.stderr_tail,
    stdout_bytes: row.stdout_bytes,
    stderr_bytes: row.stderr_bytes,
    dropped_bytes: row.dropped_bytes,
    cpu_ms: row.cpu_ms,
    peak_rss_bytes: row.peak_rss_bytes,
    retry_at: row.retry_at,
    progress: row.progress === null ? null : { percent: row.progress, message: row.progress_message },
    has_older: row.has_older,
  };
}

export interface LogPosition {
  readonly attempt?: number;
  /** Only output after this chunk. */
  readonly after?: { readonly attempt_no: number; readonly seq: number };
  readonly stream?: LogStream;
  readonly limit?: number;
}

interface LogRow {
  attempt_no: number;
  seq: number;
  stream: LogStream;
  level: LogLevel | null;
  at: Date;
  body: string;
  context: unknown;
  found: number;
}

/**
 * Reads output of a job's attempts, oldest first; null if there is no such job. The page ends before its chunks exceed
 * 512 KiB, but has at least one. `hasMore` is true if more follow.
 */
export function readLogs(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  jobId: string,
  position: LogPosition = {},
): Promise<LogPage | null> {
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
    const lines = rows.map(({ attempt_no, found: _found, ...row }) => ({ ...row, attempt_no }));
    return { lines, hasMore: rows.length < (rows[0]?.found ?? 0), running: job.status === "running" };
  });
}
