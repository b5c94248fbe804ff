import { msSinceBegun } from "../claim/claim-jobs";
import { cleanText, cutText } from "../clean.policy";
import { checkPayload } from "../enqueue/payload-check.policy";
import type { AttemptEnd, AttemptOutput } from "./types";

const ERROR_TEXT_MAX = 16_384;
const RESULT_MAX_BYTES = 256 * 1024;

/** True for a success that left nothing beside its result. Such ends take a cheaper statement. */
export function isPlainEnd({ status, outcome, spent, errorType, errorText, output }: AttemptEnd): boolean {
  const isSuccess = status === "succeeded" && outcome === "succeeded" && spent;
  return isSuccess && errorType === undefined && errorText === undefined && isSilent(output);
}

const isSilent = (output: AttemptOutput | undefined): boolean =>
  output === undefined ||
  !(
    output.pid ||
    output.exitCode ||
    output.signal ||
    output.stdoutTail ||
    output.stderrTail ||
    output.stdoutBytes ||
    output.stderrBytes ||
    output.droppedBytes ||
    output.cpuMs ||
    output.peakRssBytes
  );

/** Returns the results as they are stored: JSON texts in a PostgreSQL array literal. */
export const resultArray = (ends: readonly AttemptEnd[]): string => `{${ends.map(quotedResult).join(",")}}`;

function quotedResult({ result }: AttemptEnd): string {
  if (result === null) return '"null"';
  const stored = storableResult(result).result;
  return stored === undefined ? "null" : `"${JSON.stringify(stored).replace(/["\\]/g, "\\$&")}"`;
}

/** Replaces a result that cannot be stored exactly by `$not_stored` with the reason; the job has still succeeded. */
function storableResult(result: unknown): { result?: unknown } {
  if (result === undefined) return {};
  if (result === null) return { result };
  const problems = checkPayload(result, { maxBytes: RESULT_MAX_BYTES });
  return { result: problems.length === 0 ? result : { $not_stored: problems[0]?.detail ?? "is not JSON" } };
}

function outputColumns({ output }: AttemptEnd): Record<string, unknown> {
  if (output === undefined) return {};
  return {
    pid: output.pid,
    exit_code: output.exitCode,
    signal: output.signal,
    stdout_tail: output.stdoutTail === undefined ? undefined : cleanText(output.stdoutTail),
    stderr_tail: output.stderrTail === undefined ? undefined : cleanText(output.stderrTail),
    stdout_bytes: output.stdoutBytes,
    stderr_bytes: output.stderrBytes,
    dropped_bytes: output.droppedBytes,
    cpu_ms: output.cpuMs,
    peak_rss_bytes: output.peakRssBytes,
  };
}

/** Returns ends as the JSON argument of the statements in settle-attempts. */
export function toJson(batch: readonly AttemptEnd[]): string {
  return JSON.stringify(
    batch.map((end) => ({
      job_id: end.jobId,
      lease_no: end.leaseNo,
      status: end.status,
      outcome: end.outcome,
      retry_in_seconds: end.retryInSeconds,
      spent: end.spent,
      suspect: end.suspect,
      began_ms_ago: msSinceBegun(end) ?? undefined,
      error_type: end.errorType,
      error_text: end.errorText === undefined ? undefined : cutText(cleanText(end.errorText), ERROR_TEXT_MAX),
      ...storableResult(end.result),
      ...outputColumns(end),
    })),
  );
}
