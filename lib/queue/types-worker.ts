/** Shapes that only workers and schedulers use. */
import type { Executor, LogLevel, LogStream, RetryPolicy } from "./types";

/** One version of a definition, as an attempt runs under it. */
export interface RunnableDefinition {
  readonly definitionId: string;
  readonly version: number;
  readonly key: string;
  readonly executor: Executor;
  readonly commandKey: string | null;
  readonly argSchema: Readonly<Record<string, unknown>>;
  readonly timeoutSeconds: number;
  readonly maxAttempts: number;
  readonly leaseSeconds: number;
  readonly killGraceSeconds: number;
  readonly retry: RetryPolicy;
  readonly deadLetter: boolean;
}

/** What is active just now, so that a worker can say what of it it serves. */
export interface Servable {
  readonly queues: readonly { readonly id: number; readonly name: string }[];
  readonly definitions: readonly {
    readonly id: string;
    readonly key: string;
    readonly executor: Executor;
    readonly commandKey: string | null;
    readonly leaseSeconds: number;
  }[];
}

export interface LogChunk {
  /** Rises by one within an attempt; the same number is stored once. */
  readonly seq: number;
  readonly stream: LogStream;
  readonly level?: LogLevel;
  readonly body: string;
  readonly context?: unknown;
}

export interface WorkerRegistration {
  readonly workerId: string;
  readonly hostname: string;
  readonly pid: number;
  readonly version: string;
  readonly label: string;
  /** Queue names; empty = all. */
  readonly queues: readonly string[];
  readonly definitions: readonly string[];
  readonly capacity: number;
  readonly healthPort?: number;
  readonly isolation: string;
}

export interface WorkerSample {
  readonly runningCount: number;
  readonly cpuPercent: number;
  readonly rssBytes: number;
  readonly eventLoopLagMs: number;
}
