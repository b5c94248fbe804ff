/** Types that the worker and an execution share. Types only. */

import type { FileHandle } from "node:fs/promises";
import type { ErrorClass } from "@/lib/queue/error-classes";
import type { LogLevel } from "@/lib/queue/states";
import type { NewEvent, NewJob } from "@/lib/queue/types";
import type { ArtifactStore } from "./artifacts/types";

export type { ErrorClass, LogLevel };

/** Why a running attempt is stopped; the `reason` of its abort signal. */
export type StopReason = "timeout" | "cancel" | "lease-lost" | "shutdown";

export type Failure = {
  readonly kind: "failed";
  readonly errorType: ErrorClass;
  readonly message: string;
  /** Set by the failing code; by default the class decides. */
  readonly retryable?: boolean;
  readonly retryAfterSeconds?: number;
  /** Frames of a tenant's own handler; redacted. */
  readonly stack?: string;
};

/** How an attempt ended. An execution always resolves with one of these and never rejects. */
export type Outcome =
  | { readonly kind: "succeeded"; readonly result: unknown }
  | Failure
  | { readonly kind: "timeout"; readonly message: string }
  | { readonly kind: "canceled" }
  | { readonly kind: "lease_lost" }
  /**
   * Released without spending an attempt; `reason` is set when the cause is not the worker's shutdown, such as a lost
   * connection.
   */
  | { readonly kind: "released"; readonly reason?: string }
  /** The work asked to be retried later, which spends no attempt. */
  | { readonly kind: "snoozed"; readonly seconds: number; readonly reason?: string };

export type OutputStream = "stdout" | "stderr";

/** The stored output of an attempt: cleaned, redacted and bounded. All sizes are UTF-8 bytes of the cleaned text. */
export interface CapturedOutput {
  /** The last 192 KiB, or all of it if there was less. */
  readonly stdoutTail: string;
  readonly stderrTail: string;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** Bytes that the tails omit, over both streams. */
  readonly droppedBytes: number;
  /** Usage of the command's processes, as far as it was seen. */
  readonly cpuMs?: number;
  readonly peakRssBytes?: number;
  readonly pid?: number;
  readonly exitCode?: number;
  readonly signal?: string;
}

/** The kind of entry at a path inside a provider's folder. */
export type PathKind = "file" | "folder";

/** A file or folder that is held open, so that replacing its path has no effect. */
export interface OpenedPath {
  readonly handle: FileHandle;
  readonly kind: PathKind;
  /** Its path when it was opened. */
  readonly path: string;
  /** The open folders that lead to it, beginning with the root. */
  readonly way: readonly FileHandle[];
  close(): Promise<void>;
}

/** One attempt, as the worker hands it over. */
export interface RunContext {
  readonly jobId: string;
  readonly tenantId: string;
  readonly attemptNo: number;
  /** The same for all attempts of a run, so that other systems can detect a repetition. */
  readonly idempotencyKey: string;
  /** How many jobs precede this one in its chain of causes; default 0. */
  readonly chainDepth?: number;
  readonly payload: unknown;
  /** Aborted with a {@link StopReason} as its `reason`. */
  readonly signal: AbortSignal;
  /** Returns the stop reason, if there already is one, without creating the signal. */
  stopped?(): StopReason | undefined;
  /** Time between the request to stop and the kill. Not used for a lost lease, which kills at once. */
  readonly killGraceSeconds: number;
  /** If given, the execution also enforces this time limit itself, by the monotonic clock. */
  readonly timeoutSeconds?: number;
  /**
   * Values that must not appear in output, results and error texts. An attempt with one of fewer than 4 characters is
   * refused.
   */
  readonly secrets: readonly string[];
  /** Receives output as it comes; bounded (see `LiveOutput`). */
  onOutput(stream: OutputStream, text: string): void;
  /** `percent` is a whole number from 0 to 100, `message` at most 500 characters. */
  onProgress(percent: number, message: string | null): void;
  onLog(level: LogLevel, text: string, context?: Readonly<Record<string, unknown>>): void;
  /** Opens a file or folder inside the folder of a registered provider of the tenant. The caller closes it. */
  openProviderPath(providerId: string, relative: string): Promise<OpenedPath>;
  /** Where artifacts are stored; without it the attempt can make none. */
  readonly artifacts?: ArtifactStore;
  /**
   * Called with each process that is started, before that process can have had an effect that matters to the caller.
   */
  onSpawn?(pid: number): void;
  /** Receives the whole stack of an unexpected error in a shipped handler, redacted; tenants see its message only. */
  onFault?(stack: string): void;
  /** Called after a command's processes are gone and before its working folder is removed. */
  inspectFolder?(folder: string): Promise<void>;
}

export interface Execution {
  readonly outcome: Outcome;
  readonly output: CapturedOutput;
  /** Jobs to enqueue in the transaction that records a success. */
  readonly children?: readonly ChildJob[];
}

/** A job that a handler enqueues. Tenant, parent and (unless given) correlation id are those of the running job. */
export type ChildJob = Omit<NewJob, "parentJobId" | "retriedFromId" | "source" | "sourceRef" | "chainDepth">;

/** An event that a job publishes. */
export interface HandlerEvent extends Pick<NewEvent, "name" | "data"> {
  /** An event with the same key is published once per run of the job, whichever attempt does it; default: the name. */
  readonly key?: string;
}

/** Where one attempt's step results are stored. */
export interface StepStore {
  /** Returns what an earlier attempt of this run stored under the name. */
  find(name: string): Promise<{ readonly result: unknown } | null>;
  /** Stores a result under the fence. Rejects with `LeaseLostError` when the lease is lost. */
  store(name: string, result: unknown): Promise<void>;
}
