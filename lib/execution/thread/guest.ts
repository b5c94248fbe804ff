import type { FileHandle } from "node:fs/promises";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import type { Published } from "@/lib/queue/types";
import { isContent, writeArtifact } from "../artifacts/attempt-artifacts";
import type { ArtifactContent, ArtifactOptions, ArtifactWriter, KeptArtifact } from "../artifacts/types";
import type { CommandRun, HandlerContext, JobHandler, LogContext } from "../define-job";
import { JobError, NonRetryableError, SnoozedError } from "../errors";
import { cleanContext, cleanResult, reportTo } from "../output/clean-result";
import { asExactJson } from "../output/exact-json";
import { secretForms } from "../output/secret-forms";
import type { LogLevel } from "../types";
import type { Call, FromGuest, FromHost, GuestAnswer, ThreadData } from "./protocol";
import { fromWire, toWire } from "./wire-error";

const PROGRESS_MS = 100;

/**
 * Runs the handler that this thread was started for, and reports its end to the worker. The entry file of a thread
 * calls it.
 */
export async function serveHandlerThread(handlers: ReadonlyMap<string, JobHandler>): Promise<void> {
  const data = workerData as ThreadData;
  if (!parentPort) throw new Error("this file runs as a worker thread");
  const guest = new Guest(parentPort, data);
  guest.end(
    await answerOf(async () => {
      const handler = handlers.get(data.key);
      if (!handler) throw new JobError("This worker does not have the handler.", { errorType: "internal" });
      const result = await handler.run(guest.context(handler.schema.parse(data.payload)));
      // A value that cannot be cloned would be lost between the threads.
      return cleanResult(result, secretForms([]), guest.reportChange);
    }),
  );
}

async function answerOf(run: () => Promise<unknown>): Promise<GuestAnswer> {
  try {
    return { ok: true, value: await run() };
  } catch (error) {
    return { ok: false, error: toWire(error) };
  }
}

/** The thread's side: a context whose calls run in the worker's main thread. */
class Guest {
  readonly #abort = new AbortController();
  readonly #calls = new Map<number, (answer: GuestAnswer) => void>();
  readonly #steps = new Map<number, () => Promise<unknown>>();
  readonly #saidOfContexts = new Set<string>();
  #next = 0;
  #shownAt = 0;
  #unshown: Extract<FromGuest, { type: "progress" }> | null = null;

  constructor(
    private readonly port: MessagePort,
    private readonly data: ThreadData,
  ) {
    port.on("message", (message: FromHost) => void this.#hear(message));
  }

  readonly reportChange = reportTo({ onLog: (level, text) => this.#log(level, text) });

  end(answer: GuestAnswer): void {
    if (this.#unshown) this.#post(this.#unshown);
    this.#post({ type: "done", answer });
    this.port.close();
  }

  context(payload: unknown): HandlerContext<unknown> {
    const { tenantId, jobId, attempt, idempotencyKey, chainDepth } = this.data;
    return {
      payload,
      tenantId,
      jobId,
      attempt,
      idempotencyKey,
      chainDepth,
      signal: this.#abort.signal,
      progress: (percent, message) => this.#progress(percent, message),
      log: (first: string, message?: string, context?: LogContext) => this.#log(first, message, context),
      command: ((key: string, args: Readonly<Record<string, unknown>>, options?: { readonly rows: true }) =>
        options?.rows
          ? this.#rows(key, args)
          : this.#call({ verb: "command", key, args })) as HandlerContext<unknown>["command"],
      artifact: ((name: string, second?: ArtifactContent | ArtifactOptions, third: ArtifactOptions = {}) =>
        isContent(second)
          ? writeArtifact(this.#artifact(name, third), second)
          : this.#artifact(name, second ?? {})) as HandlerContext<unknown>["artifact"],
      transaction: () => Promise.reject(noTransaction()),
      step: (name, fn) => this.#step(name, async () => fn()) as never,
      enqueue: (job) => this.#post({ type: "enqueue", job }),
      publishEvent: async (event) => (await this.#call({ verb: "publish-event", event })) as Published,
      snooze: (seconds, reason) => {
        throw new SnoozedError(seconds, reason);
      },
      openFile: async (providerId, path) => (await this.#call({ verb: "open-file", providerId, path })) as FileHandle,
    };
  }

  // Sends ten progress messages a second at most, because a tight loop would fill the worker's memory with messages.
  #progress(percent: number, message?: string): void {
    const progress = { type: "progress" as const, percent, ...(message === undefined ? {} : { message }) };
    const now = performance.now();
    this.#unshown = now - this.#shownAt < PROGRESS_MS ? progress : null;
    if (this.#unshown) return;
    this.#shownAt = now;
    this.#post(progress);
  }

  #log(first: string, message?: string, context?: LogContext): void {
    const level = message === undefined ? "info" : (first as LogLevel);
    const line = { type: "log" as const, level, message: message ?? first };
    if (context === undefined) {
      this.#post(line);
      return;
    }
    const { cleaned, changes } = cleanContext(context, secretForms([]), this.#saidOfContexts);
    this.#post({ ...line, context: cleaned });
    for (const change of changes) this.#post({ type: "log", level: "warn", message: change });
  }

  #rows(key: string, args: Readonly<Record<string, unknown>>): CommandRun {
    const rows = this.#next++;
    const started = this.#call({ verb: "rows", key, args, rows });
    const result = started.then(() => this.#call({ verb: "rows-result", rows }));
    // A handler may read only the rows.
    result.catch(() => undefined);
    const next = async () => {
      await started;
      return (await this.#call({ verb: "next-row", rows })) as IteratorResult<unknown>;
    };
    const end = async () => {
      await this.#call({ verb: "end-rows", rows });
      return { done: true as const, value: undefined };
    };
    return { rows: { [Symbol.asyncIterator]: () => ({ next, return: end }) }, result };
  }

  /** Begins an artifact in the worker's main thread. A refusal rejects the first write, or the end. */
  #artifact(name: string, options: ArtifactOptions): ArtifactWriter {
    const artifact = this.#next++;
    const started = this.#call({ verb: "artifact", name, options, artifact });
    started.catch(() => undefined);
    return {
      write: async (data) => {
        await started;
        await this.#call({ verb: "write-artifact", artifact, data: ownBytes(data) });
      },
      end: async () => {
        await started;
        return (await this.#call({ verb: "end-artifact", artifact })) as KeptArtifact;
      },
    };
  }

  async #step(name: string, fn: () => Promise<unknown>): Promise<unknown> {
    const run = this.#next++;
    let failure: { readonly error: unknown } | null = null;
    this.#steps.set(run, async () => {
      try {
        return await fn();
      } catch (error) {
        failure = { error };
        throw error;
      }
    });
    try {
      return await this.#call({ verb: "step", name, run });
    } catch (error) {
      throw (failure as { readonly error: unknown } | null)?.error ?? error;
    } finally {
      this.#steps.delete(run);
    }
  }

  async #call(call: Call): Promise<unknown> {
    const id = this.#next++;
    const answered = new Promise<GuestAnswer>((resolve) => this.#calls.set(id, resolve));
    this.#post({ type: "call", id, call });
    const answer = await answered;
    if (answer.ok) return answer.value;
    throw fromWire(answer.error);
  }

  #post(message: FromGuest): void {
    this.port.postMessage(message);
  }

  async #hear(message: FromHost): Promise<void> {
    if (message.type === "abort") return this.#abort.abort(message.reason);
    if (message.type === "answer") {
      this.#calls.get(message.id)?.(message.answer);
      this.#calls.delete(message.id);
      return;
    }
    const { run } = message;
    const answer = await answerOf(async () => {
      const result = await this.#steps.get(run)?.();
      // The value as it will be stored; a value that is not JSON fails here and not between the threads.
      return asExactJson(result);
    });
    this.#post({ type: "step-ran", run, answer });
  }
}

/** Copies a part of a large buffer, because cloning a view clones the whole buffer behind it. */
const ownBytes = (data: string | Uint8Array): string | Uint8Array =>
  typeof data === "string" || data.byteLength === data.buffer.byteLength ? data : new Uint8Array(data);

const noTransaction = (): Error =>
  new NonRetryableError("ctx.transaction is not available in a thread", { errorType: "internal" });
