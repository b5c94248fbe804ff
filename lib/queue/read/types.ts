/** Shapes of attempts, output, steps and artifacts. Client-safe: types only; exported through types.ts. */
import type { AttemptStatus, LogLevel, LogStream } from "../states";

export type { LogLevel, LogStream } from "../states";

export interface AttemptView {
  readonly jobId: string;
  readonly attemptNo: number;
  readonly runNo: number;
  readonly status: AttemptStatus | "running";
  readonly workerId: string;
  readonly claimedAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly durationMs: number | null;
  readonly pid: number | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly errorType: string | null;
  readonly errorText: string | null;
  readonly stdoutTail: string | null;
  readonly stderrTail: string | null;
  readonly stdoutBytes: number | null;
  readonly stderrBytes: number | null;
  readonly droppedBytes: number | null;
  /** CPU time of the command's processes; null if it was not measured. */
  readonly cpuMs: number | null;
  readonly peakRssBytes: number | null;
  readonly retryAt: Date | null;
  /** The last reported progress; 100 % if the attempt succeeded. */
  readonly progress: { readonly percent: number; readonly message: string | null } | null;
  /** True if the job has attempts before this one. */
  readonly hasOlder: boolean;
}

export interface LogLine {
  readonly attemptNo: number;
  readonly seq: number;
  readonly stream: LogStream;
  readonly level: LogLevel | null;
  readonly at: Date;
  readonly body: string;
  readonly context: unknown;
}

export interface LogPage {
  readonly lines: readonly LogLine[];
  readonly hasMore: boolean;
  readonly running: boolean;
}

export interface StepsPage {
  readonly steps: readonly StepView[];
  readonly hasMore: boolean;
}

/** A step that an attempt has completed. */
export interface StepView {
  readonly name: string;
  readonly runNo: number;
  readonly attemptNo: number;
  readonly createdAt: Date;
  readonly resultBytes: number;
  /** The result; null also if it is too large to be shown (`isShown` false). */
  readonly result: unknown;
  readonly isShown: boolean;
}

/** A file that an attempt stored. */
export interface ArtifactView {
  readonly id: string;
  readonly jobId: string;
  readonly runNo: number;
  readonly attemptNo: number;
  readonly name: string;
  readonly contentType: string;
  /** Bytes. */
  readonly size: number;
  readonly chunks: number;
  /** Hexadecimal. */
  readonly sha256: string;
  /** When the artifact was completed. */
  readonly createdAt: Date;
}
