/** Shapes of attempts, output, steps and artifacts. Client-safe: types only; exported through types.ts. */
import type { AttemptStatus, LogLevel, LogStream } from "../states";

export type { LogLevel, LogStream } from "../states";

export interface Attempt {
  /** The job id and the attempt's number. */
  readonly id: string;
  readonly job_id: string;
  readonly attempt_no: number;
  readonly run_no: number;
  readonly status: AttemptStatus | "running";
  readonly worker_id: string;
  readonly claimed_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly duration_ms: number | null;
  readonly pid: number | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly error_type: string | null;
  readonly error_text: string | null;
  readonly stdout_tail: string | null;
  readonly stderr_tail: string | null;
  readonly stdout_bytes: number | null;
  readonly stderr_bytes: number | null;
  readonly dropped_bytes: number | null;
  /** CPU time of the command's processes; null if it was not measured. */
  readonly cpu_ms: number | null;
  readonly peak_rss_bytes: number | null;
  readonly retry_at: string | null;
  /** The last reported progress; 100 % if the attempt succeeded. */
  readonly progress: { readonly percent: number; readonly message: string | null } | null;
}

export interface LogEntry {
  readonly attempt_no: number;
  readonly seq: number;
  readonly stream: LogStream;
  readonly level: LogLevel | null;
  readonly at: string;
  readonly body: string;
  readonly context: unknown;
}

export interface OutputPage {
  readonly lines: readonly LogEntry[];
  readonly hasMore: boolean;
  readonly running: boolean;
}

export interface StepsPage {
  readonly steps: readonly Step[];
  readonly hasMore: boolean;
}

/** A step that an attempt has completed. */
export interface Step {
  readonly name: string;
  readonly run_no: number;
  readonly attempt_no: number;
  readonly created_at: string;
  readonly result_bytes: number;
  /** The result; null also if it is too large to be shown (`result_omitted` true). */
  readonly result: unknown;
  readonly result_omitted: boolean;
}

/** A file that an attempt stored. */
export interface Artifact {
  readonly id: string;
  readonly job_id: string;
  readonly run_no: number;
  readonly attempt_no: number;
  readonly name: string;
  readonly content_type: string;
  /** Bytes. */
  readonly size: number;
  /** Hexadecimal. */
  readonly sha256: string;
  /** When the artifact was completed. */
  readonly created_at: string;
}
