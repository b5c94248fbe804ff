import type { FileHandle } from "node:fs/promises";
import { z } from "zod";
import type { TenantTransaction } from "@/lib/db";
import type { PublishedEvent } from "@/lib/queue/types";
import type { ArtifactContent, ArtifactOptions, ArtifactWriter, KeptArtifact } from "./artifacts/types";
import type { ChildJob, JobEvent, LogLevel } from "./types";

export type LogContext = Readonly<Record<string, unknown>>;

/** A command that is running; `rows` is empty unless rows were asked for. */
export interface CommandRun {
  /** Taken at the reader's pace: the command waits. Throws when the command fails. */
  readonly rows: AsyncIterable<unknown>;
  /** Rejects with a `CommandFailedError` when the command does not succeed. */
  readonly result: Promise<unknown>;
}

/** What a handler works with. After the attempt is over, everything here throws. */
export interface HandlerContext<P> {
  readonly payload: P;
  readonly tenantId: string;
  readonly jobId: string;
  readonly attempt: number;
  /** The same for all attempts of a run: give it to other systems, so that they can tell a repetition. */
  readonly idempotencyKey: string;
  /** To be sent as the header Leasehold-Chain with whatever the job asks of our API. */
  readonly chainDepth: number;
  /** Aborted when the attempt has to stop; its `reason` says why. Whoever ignores it is left behind after the grace period. */
  readonly signal: AbortSignal;
  progress(percent: number, message?: string): void;
  log(message: string): void;
  log(level: LogLevel, message: string, context?: LogContext): void;
  /** Runs an allow-listed command and answers its result. */
  command(key: string, args: Readonly<Record<string, unknown>>): Promise<unknown>;
  command(key: string, args: Readonly<Record<string, unknown>>, options: { readonly rows: true }): CommandRun;
  /**
   * Keeps a file of the job: answers a writer, or stores a whole content at once. The artifact is visible once it has
   * ended, also when the attempt fails later; an earlier one of the job of the same name is replaced. A name is 1 to 200
   * characters and may be used once in an attempt. Over a quota it rejects with a `JobError` that no retry mends.
   */
  artifact(name: string, options?: ArtifactOptions): ArtifactWriter;
  artifact(name: string, content: ArtifactContent, options?: ArtifactOptions): Promise<KeptArtifact>;
  /**
   * Runs statements for this tenant in one transaction, which commits only while the job is still this attempt's: what
   * a late attempt writes is rolled back.
   */
  transaction<T>(fn: (tx: TenantTransaction) => Promise<T>): Promise<T>;
  /**
   * Runs `fn` once over all attempts of a run: its result is stored under the job's lease, and a later attempt gets it
   * without calling `fn`. The result is JSON of at most 256 KiB, and is what comes back from JSON at once (a Date is a
   * string). A name may be used once in an attempt. What is stored can be read by the tenant's members.
   */
  step<T>(name: string, fn: () => Promise<T> | T): Promise<T>;
  /**
   * Asks for another job of this tenant, with this job as its parent. It is enqueued in the transaction that records this
   * job's success, and not at all if the attempt ends otherwise. At most 1,000. A job that is refused fails the attempt.
   */
  enqueue(job: ChildJob): void;
  /**
   * Publishes an event of this tenant under the job's correlation id, in a transaction that commits only while the job is
   * still this attempt's: a given one of `transaction`, or its own. An event of the same key (by default the name) that the
   * run published already is not published again; the answer says so.
   */
  publishEvent(event: JobEvent, tx?: TenantTransaction): Promise<PublishedEvent>;
  /**
   * Ends the attempt here (it throws) and puts the job back for `seconds`, 1 to 604,800, without spending an attempt. A run
   * can do so 1,000 times.
   */
  snooze(seconds: number, reason?: string): never;
  /**
   * Opens a regular file for reading below a folder that is registered for the tenant. Links below the folder are refused,
   * and so is a file that the user of commands may not read. The handle stays that file if another one takes its place. The
   * handler closes it.
   */
  openFile(providerId: string, path: string): Promise<FileHandle>;
}

/** What a definition of this handler starts with; the super admin may change it later. */
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
  /** Runs in a thread of its own. */
  readonly thread: boolean;
  /** Comes with Leasehold: the stack of an unexpected error goes to the worker's log, and tenants see its message only. */
  readonly isShipped: boolean;
  run(ctx: HandlerContext<unknown>): Promise<unknown>;
}

export interface JobSpec<S extends z.ZodType> extends DefinitionDefaults {
  readonly key: string;
  /** Of the payload; must be expressible as JSON Schema. */
  readonly schema: S;
  /** For handlers that compute for long: each attempt gets a thread of its own, which is ended when it does not stop. */
  readonly thread?: boolean;
  run(ctx: HandlerContext<z.output<S>>): Promise<unknown>;
}

/** Defines a job that is a function of this codebase. The payload reaches `run` checked and parsed by the schema. */
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

/** The JSON Schema (2020-12) of what a payload may be. */
export function jsonSchemaOf(schema: z.ZodType): Readonly<Record<string, unknown>> {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: "input", target: "draft-2020-12" });
  return rest;
}
