import type { FileHandle } from "node:fs/promises";
import { z } from "zod";
import type { TenantTransaction } from "@/lib/db";
import type { Published } from "@/lib/queue/types";
import type { ArtifactContent, ArtifactOptions, ArtifactWriter, KeptArtifact } from "./artifacts/types";
import type { ChildJob, HandlerEvent, LogLevel } from "./types";

export type LogContext = Readonly<Record<string, unknown>>;

/** A running command; `rows` is empty unless rows were asked for. */
export interface CommandRun {
  /** Read at the handler's pace: the command waits. Throws when the command fails. */
  readonly rows: AsyncIterable<unknown>;
  /** Rejects with a `CommandFailedError` when the command does not succeed. */
  readonly result: Promise<unknown>;
}

/** The API of a handler. After the attempt has ended, every member throws. */
export interface HandlerContext<P> {
  readonly payload: P;
  readonly tenantId: string;
  readonly jobId: string;
  readonly attempt: number;
  /** The same for all attempts of a run. Send it to other systems, so that they can detect a repetition. */
  readonly idempotencyKey: string;
  /** Send it as the header Leasehold-Chain with every request of the job to Leasehold's API. */
  readonly chainDepth: number;
  /**
   * Aborted when the attempt has to stop, with the reason in `reason`. A handler that ignores it is abandoned after the
   * grace period.
   */
  readonly signal: AbortSignal;
  progress(percent: number, message?: string): void;
  log(message: string): void;
  log(level: LogLevel, message: string, context?: LogContext): void;
  /** Runs an allow-listed command and resolves with its result. */
  command(key: string, args: Readonly<Record<string, unknown>>): Promise<unknown>;
  command(key: string, args: Readonly<Record<string, unknown>>, options: { readonly rows: true }): CommandRun;
  /**
   * Keeps a file of the job: returns a writer, or stores whole content at once.
   *
   * The artifact is visible once it has ended, even if the attempt fails later. It replaces an earlier artifact of the
   * job with the same name. A name has 1 to 200 characters and may be used once per attempt. Over a quota it rejects
   * with a non-retryable `JobError`.
   */
  artifact(name: string, options?: ArtifactOptions): ArtifactWriter;
  artifact(name: string, content: ArtifactContent, options?: ArtifactOptions): Promise<KeptArtifact>;
  /**
   * Runs statements for this tenant in one transaction. It commits only while this attempt holds the job's lease; the
   * writes of a late attempt are rolled back.
   */
  transaction<T>(fn: (tx: TenantTransaction) => Promise<T>): Promise<T>;
  /**
   * Runs `fn` once per run: its result is stored under the job's lease, and later attempts get it without calling `fn`.
   *
   * The result is JSON of at most 256 KiB; the first attempt, too, gets the value parsed from that JSON (a Date becomes
   * a string). A name may be used once per attempt. The tenant's members can read the result.
   */
  step<T>(name: string, fn: () => Promise<T> | T): Promise<T>;
  /**
   * Enqueues another job of this tenant, with this job as its parent. It is enqueued in the transaction that records
   * this job's success, and not at all if the attempt ends otherwise. At most 1,000. A job that is refused fails the
   * attempt.
   */
  enqueue(job: ChildJob): void;
  /**
   * Publishes an event of this tenant under the job's correlation id, in the given transaction of `transaction` or in
   * its own. The transaction commits only while this attempt holds the job's lease. An event with the same key (by
   * default the name) is published once per run; the answer says if this call published it.
   */
  publishEvent(event: HandlerEvent, tx?: TenantTransaction): Promise<Published>;
  /**
   * Ends the attempt by throwing. The job comes back after `seconds`, 1 to 604,800, without spending an attempt. A run
   * can snooze 1,000 times.
   */
  snooze(seconds: number, reason?: string): never;
  /**
   * Opens a regular file for reading, below a folder that is registered for the tenant. Refuses links below the folder,
   * and files that the commands' user may not read. The handle stays the same file if its path is replaced. The handler
   * closes it.
   */
  openFile(providerId: string, path: string): Promise<FileHandle>;
}

/** Defaults for a new definition of this handler; a super admin may change them later. */
export interface DefinitionDefaults {
  readonly description?: string;
  readonly timeoutSeconds?: number;
  readonly maxAttempts?: number;
}

export interface JobHandler {
  readonly key: string;
  readonly defaults: DefinitionDefaults;
  /** JSON Schema of the payload. */
  readonly argSchema: Readonly<Record<string, unknown>>;
  readonly schema: z.ZodType;
  /** True if each attempt runs in its own thread. */
  readonly thread: boolean;
  /**
   * True for handlers that come with Leasehold: the stack of an unexpected error goes to the worker's log, and tenants
   * see its message only.
   */
  readonly isShipped: boolean;
  run(ctx: HandlerContext<unknown>): Promise<unknown>;
}

export interface JobSpec<S extends z.ZodType> extends DefinitionDefaults {
  readonly key: string;
  /** Schema of the payload; must be expressible as JSON Schema. */
  readonly schema: S;
  /**
   * For handlers that compute for long: each attempt gets its own thread, which is ended when the handler does not
   * stop.
   */
  readonly thread?: boolean;
  run(ctx: HandlerContext<z.output<S>>): Promise<unknown>;
}

/** Defines a job that is a function of this codebase. `run` gets the payload validated and parsed by the schema. */
export function defineJob<S extends z.ZodType>({
  key,
  schema,
  run,
  thread = false,
  ...defaults
}: JobSpec<S>): JobHandler {
  return {
    key,
    defaults,
    schema,
    thread,
    isShipped: false,
    argSchema: jsonSchemaOf(schema),
    run: (ctx) => run(ctx as HandlerContext<z.output<S>>),
  };
}

/** Returns the JSON Schema (2020-12) of a payload. */
export function jsonSchemaOf(schema: z.ZodType): Readonly<Record<string, unknown>> {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: "input", target: "draft-2020-12" });
  return rest;
}
