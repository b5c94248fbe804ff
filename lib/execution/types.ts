/** What the worker and an execution exchange. Types only. */

import type { FileHandle } from "node:fs/promises";
import type { ErrorClass } from "@/lib/queue/error-classes";
import type { NewEvent, NewJob } from "@/lib/queue/types";
import type { ArtifactStore } from "./artifacts/types";

export type { ErrorClass };

/** Why a running attempt is told to stop; the `reason` of its abort signal. */
export type StopReason = "timeout" | "cancel" | "lease-lost" | "shutdown";

export type Failure = {
  readonly kind: "failed";
  readonly errorType: ErrorClass;
  readonly message: string;
  /** Said by who failed; left out, the class decides. */
  readonly retryable?: boolean;
  readonly retryAfterSeconds?: number;
  /** Frames of a tenant's own handler; redacted. */
  readonly stack?: string;
};

/** How an attempt ended. An execution always answers with one of these; it never rejects. */
export type Outcome =
  | { readonly kind: "succeeded"; readonly result: unknown }
  | Failure
  | { readonly kind: "timeout"; readonly message: string }
  | { readonly kind: "canceled" }
  | { readonly kind: "lease_lost" }
  /** Given back, no attempt is spent; `reason` when it was not the worker's wish but the database's connection. */
  | { readonly kind: "released"; readonly reason?: string }
  /** Not now: the work asked to be tried again later, which spends no attempt. */
  | { readonly kind: "snoozed"; readonly seconds: number; readonly reason?: string };

export type OutputStream = "stdout" | "stderr";
export type LogLevel = "debug" | "info" | "warn" | "error";

/** What is kept of an attempt's output: cleaned, redacted and bounded. All sizes are UTF-8 bytes of the cleaned text. */
export interface AttemptOutput {
  /** The last 192 KiB (all of it, when there was less). */
  readonly stdoutTail: string;
  readonly stderrTail: string;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** What the tails leave out, over both streams. */
  readonly droppedBytes: number;
  /** Of the command's processes, as far as they were seen. */
  readonly cpuMs?: number;
  readonly peakRssBytes?: number;
  readonly pid?: number;
  readonly exitCode?: number;
  readonly signal?: string;
}

/** What lies at a path inside a provider's folder. */
export type PathKind = "file" | "folder";

/** A file or folder that is held open, so that replacing it at its path changes nothing. */
export interface OpenedPath {
  readonly handle: FileHandle;
  readonly kind: PathKind;
  /** Where it was when it was opened. */
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
  /** The same for all attempts of a run, so that side effects elsewhere can be recognised as repeated. */
  readonly idempotencyKey: string;
  /** How many jobs that caused each other lie before this one; default 0. */
  readonly chainDepth?: number;
  readonly payload: unknown;
  /** Aborted with a {@link StopReason} as its `reason`. */
  readonly signal: AbortSignal;
  /** Why it has to stop already, as far as that is known without making the signal. */
  stopped?(): StopReason | undefined;
  /** Between the request to stop and the kill. Not used for a lost lease, which kills at once. */
  readonly killGraceSeconds: number;
  /** When given, the execution also keeps this time limit itself, by the monotonic clock. */
  readonly timeoutSeconds?: number;
  /** Values that must not appear in output, results and error texts. An attempt with one of fewer than 4 characters is refused. */
  readonly secrets: readonly string[];
  /** Hears of output as it comes; bounded (see `LiveOutput`). */
  onOutput(stream: OutputStream, text: string): void;
  /** `percent` is a whole number from 0 to 100, `message` at most 500 characters. */
  onProgress(percent: number, message: string | null): void;
  onLog(level: LogLevel, text: string, context?: Readonly<Record<string, unknown>>): void;
  /** Opens a file or folder inside the folder of a registered provider of the tenant. The caller closes it. */
  openProviderPath(providerId: string, relative: string): Promise<OpenedPath>;
  /** Where artifacts are kept; without it the attempt can make none. */
  readonly artifacts?: ArtifactStore;
  /** Hears of each process that is started, before it can have done anything that matters to the caller. */
  onSpawn?(pid: number): void;
  /** Hears the whole stack of an unexpected error in a shipped handler, redacted; tenants see its message only. */
  onFault?(stack: string): void;
  /** Called after a command's processes are gone and before its working folder is removed. */
  inspectFolder?(folder: string): Promise<void>;
}

export interface Execution {
  readonly outcome: Outcome;
  readonly output: AttemptOutput;
  /** Jobs to be enqueued in the transaction that records a success. */
  readonly children?: readonly ChildJob[];
}

/** A job that a handler asks for. Tenant, parent and (if not said) correlation id are those of the job that runs. */
export type ChildJob = Omit<NewJob, "parentJobId" | "retriedFromId" | "source" | "sourceRef" | "chainDepth">;

/** What a job tells of. */
export interface JobEvent extends Pick<NewEvent, "name" | "data"> {
  /** An event of the same key is published once in a run of the job, whatever attempt does it; default the name. */
  readonly key?: string;
}

/** Where the results of steps are kept, for one attempt. */
export interface StepStore {
  /** What an earlier attempt of this run stored under the name. */
  find(name: string): Promise<{ readonly result: unknown } | null>;
  /** Stores a result under the fence. Rejects with `LeaseLostError` when the lease is lost. */
  store(name: string, result: unknown): Promise<void>;
}
