/**
 * Runs handlers that compute for long in threads. Start with `HandlerThread`, the worker's side; guest.ts is the
 * thread's.
 *
 * The thread has the same context as other handlers, except for `transaction`; its calls run in the main thread
 * (protocol.ts). A thread blocks only its own event loop, and `end` ends it whatever it does.
 */

import type { FileHandle } from "node:fs/promises";
import type { Worker } from "node:worker_threads";
import { withDeadline } from "@/lib/async/deadline";
import type { ArtifactWriter } from "../artifacts/types";
import { faultStack, withOrigin } from "../classify-error";
import type { HandlerContext } from "../define-job";
import { JobError } from "../errors";
import type { AttemptCapture } from "../output/attempt-capture";
import { readPaced } from "../output/read-paced";
import type { StopReason } from "../types";
import type { Call, FromGuest, FromHost, GuestAnswer, ThreadData } from "./protocol";
import { fromWire, toWire } from "./wire-error";

/** Starts a thread when there is memory for it. Rejects when the signal is aborted before. */
export type StartThread = (data: ThreadData, signal: AbortSignal) => Promise<Worker>;

interface ThreadRun {
  readonly start: StartThread;
  readonly data: ThreadData;
  /** Runs the calls of the thread. */
  readonly context: HandlerContext<unknown>;
  /** Captures what the thread prints. */
  readonly capture: AttemptCapture;
}

/** A thread that has answered exits by itself, after its last output was read. */
const LEAVES_WITHIN_MS = 500;
/** Takes longer only inside native code, which nothing can interrupt. */
const KILLED_WITHIN_MS = 2000;

/** Runs one handler in its own thread, which is gone when `end` has resolved. */
export class HandlerThread {
  #thread: Worker | null = null;
  #exited: Promise<unknown> = Promise.resolve();
  /** Resolves when everything that the thread printed was read. */
  #printed: Promise<unknown> = Promise.resolve();
  #answered = false;
  readonly #steps = new Map<number, (answer: GuestAnswer) => void>();
  readonly #artifacts = new Map<number, ArtifactWriter>();
  readonly #rows = new Map<number, { readonly rows: AsyncIterator<unknown>; readonly result: Promise<unknown> }>();

  constructor(private readonly options: ThreadRun) {}

  /** Resolves with the handler's result. Rejects with the handler's error, or with why the thread ended. */
  async run(): Promise<unknown> {
    const { start, data, context, capture } = this.options;
    const thread = await start(data, context.signal);
    this.#thread = thread;
    return new Promise((resolve, reject) => {
      this.#exited = new Promise((gone) => thread.once("exit", gone));
      this.#printed = Promise.all([
        readPaced(thread.stdout, (bytes) => capture.stdout.push(bytes)),
        readPaced(thread.stderr, (bytes) => capture.stderr.push(bytes)),
      ]);
      thread.on("message", (message: FromGuest) => {
        if (message.type !== "done") return void this.#serve(message).catch(reject);
        this.#answered = true;
        if (message.answer.ok) resolve(message.answer.value);
        else reject(fromWire(message.answer.error));
      });
      thread.on("error", (error) => reject(failureOf(error)));
      thread.on("messageerror", (error) => reject(failureOf(error)));
      thread.once("exit", (code) => reject(endedBySelf(code)));
      const abort = () => this.#post({ type: "abort", reason: context.signal.reason as StopReason });
      context.signal.addEventListener("abort", abort, { once: true });
      if (context.signal.aborted) abort();
    });
  }

  /** Ends the thread, whatever it does. */
  async end(): Promise<void> {
    if (!this.#thread) return;
    if (this.#answered) await withDeadline(this.#exited, LEAVES_WITHIN_MS);
    await withDeadline(this.#thread.terminate(), KILLED_WITHIN_MS);
    await withDeadline(this.#printed, LEAVES_WITHIN_MS);
  }

  #post(message: FromHost): void {
    this.#thread?.postMessage(message);
  }

  async #serve(message: Exclude<FromGuest, { type: "done" }>): Promise<void> {
    const { context } = this.options;
    switch (message.type) {
      case "progress":
        return context.progress(message.percent, message.message);
      case "log":
        return context.log(message.level, message.message, message.context);
      case "enqueue":
        return context.enqueue(message.job);
      case "step-ran":
        return this.#steps.get(message.run)?.(message.answer);
      case "call":
        return this.#postAnswer(message.id, message.call);
    }
  }

  async #postAnswer(id: number, call: Call): Promise<void> {
    const answer = await this.#answer(call);
    const transferred = call.verb === "open-file" && answer.ok ? [answer.value as FileHandle] : [];
    this.#thread?.postMessage({ type: "answer", id, answer } satisfies FromHost, transferred);
  }

  async #answer(call: Call): Promise<GuestAnswer> {
    try {
      return { ok: true, value: await this.#carryOut(call) };
    } catch (error) {
      return { ok: false, error: toWire(error) };
    }
  }

  async #carryOut(call: Call): Promise<unknown> {
    const { context } = this.options;
    switch (call.verb) {
      case "command":
        return context.command(call.key, call.args);
      case "open-file":
        return context.openFile(call.providerId, call.path);
      case "publish-event":
        return context.publishEvent(call.event);
      case "step":
        return context.step(call.name, () => this.#runStep(call.run));
      case "artifact":
        return void this.#artifacts.set(call.artifact, context.artifact(call.name, call.options));
      case "write-artifact":
        return this.#artifacts.get(call.artifact)?.write(call.data);
      case "end-artifact":
        return this.#artifacts.get(call.artifact)?.end();
      case "rows": {
        const { rows, result } = context.command(call.key, call.args, { rows: true });
        this.#rows.set(call.rows, { rows: rows[Symbol.asyncIterator](), result });
        return null;
      }
      case "next-row":
        return this.#rows.get(call.rows)?.rows.next();
      case "rows-result":
        return this.#rows.get(call.rows)?.result;
      case "end-rows":
        return void (await this.#rows.get(call.rows)?.rows.return?.());
    }
  }

  async #runStep(run: number): Promise<unknown> {
    const ran = new Promise<GuestAnswer>((resolve) => this.#steps.set(run, resolve));
    this.#post({ type: "run-step", run });
    const answer = await ran;
    this.#steps.delete(run);
    if (answer.ok) return answer.value;
    throw fromWire(answer.error);
  }
}

function failureOf(error: Error): JobError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ERR_WORKER_OUT_OF_MEMORY")
    return new JobError("the thread ran out of memory", { errorType: "temporary_resource" });
  if (code === "ERR_WORKER_INIT_FAILED")
    return new JobError(`the thread could not start: ${error.message}`, { errorType: "temporary_resource" });
  const failure = new JobError(`an uncaught error: ${error.message}`, { errorType: "internal" });
  return withOrigin(failure, faultStack(error));
}

const endedBySelf = (code: number): JobError =>
  new JobError(`the thread ended by itself, with code ${code}`, { errorType: "internal" });
