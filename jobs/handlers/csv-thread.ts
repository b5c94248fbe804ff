import { Worker } from "node:worker_threads";
import { AttemptStoppedError, JobError, NonRetryableError, type StopReason } from "@/lib/execution";
import { TurnLines } from "@/lib/turn-lines";
import type { CsvOptions } from "./csv-dialect";
import type { PackedBatch } from "./csv-packed";
import type { FromCsvThread, ToCsvThread } from "./csv-protocol";

/** Where the thread's program is. Tests, which run from sources, set another URL. */
export const csvThread = { url: new URL("./csv-thread.mjs", import.meta.url) };

/** A thread with a record of 16 MiB or of a million fields needs most of it. */
const HEAP_MB = 128;
/** A record of more bytes counts as long. */
const LONG_BYTES = 2 * 1024 * 1024;

/**
 * Slots for threads: eight per worker, because each takes about 25 MB. Tenants take turns, and each has at most six,
 * because an import may last for hours.
 */
const threadTurns = new TurnLines({ atOnce: 8, ofLine: () => 6 });
/** Only one thread at a time reads on with a long record, because it then takes 130 MB. */
const longRecordTurns = new TurnLines({ atOnce: 1 });

interface ReadOptions {
  readonly options: CsvOptions;
  readonly signal: AbortSignal;
  readonly tenantId: string;
}

/**
 * Reads a CSV file as `readRows` does, in its own thread, so that parsing never blocks the caller's event loop. The
 * thread reads on when the next batch is requested, and ends with the generator or when the signal is aborted.
 * @throws the errors of `readRows`; JobError when the thread dies; AttemptStoppedError when the signal is aborted
 */
export async function* readRowsInThread(
  chunks: AsyncIterable<Buffer>,
  { options, signal, tenantId }: ReadOptions,
): AsyncGenerator<PackedBatch> {
  const turn = new Turn(threadTurns, tenantId);
  try {
    await unlessAborted(turn.take(), signal);
    yield* readInThread(chunks, new CsvThread(signal), { options, longRecord: new Turn(longRecordTurns, tenantId) });
  } finally {
    turn.end();
  }
}

async function* readInThread(
  chunks: AsyncIterable<Buffer>,
  thread: CsvThread,
  { options, longRecord }: { readonly options: CsvOptions; readonly longRecord: Turn },
): AsyncGenerator<PackedBatch> {
  const source = chunks[Symbol.asyncIterator]();
  try {
    for (let message: ToCsvThread = { type: "begin", options }; ; ) {
      const said = await thread.ask(message);
      if (said.type === "done") return;
      if (said.type === "failed") throw errorOf(said);
      if (said.type === "batch") {
        longRecord.end();
        yield said.batch;
        message = { type: "written" };
        continue;
      }
      if (said.heldBytes > LONG_BYTES) await unlessAborted(longRecord.take(), thread.signal);
      else longRecord.end();
      const next = await source.next();
      message = { type: "chunk", bytes: next.done ? null : ownBytes(next.value) };
    }
  } finally {
    await thread.end();
    longRecord.end();
    await source.return?.();
  }
}

/** A turn that is held once at a time, and can be given up while still waiting. */
class Turn {
  #entered: Promise<() => void> | null = null;

  constructor(
    private readonly lines: TurnLines,
    private readonly tenantId: string,
  ) {}

  async take(): Promise<void> {
    this.#entered ??= this.lines.enter({ name: this.tenantId });
    await this.#entered;
  }

  end(): void {
    void this.#entered?.then((leave) => leave());
    this.#entered = null;
  }
}

/** Waits for a turn. @throws AttemptStoppedError when the signal is aborted meanwhile */
function unlessAborted(wait: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(stopped(signal));
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    void wait.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

const stopped = (signal: AbortSignal): Error => new AttemptStoppedError(signal.reason as StopReason);

class CsvThread {
  readonly #worker: Worker;
  #answer: (message: FromCsvThread) => void = () => undefined;
  #fail: (error: Error) => void = () => undefined;
  #failure: Error | null = null;

  constructor(readonly signal: AbortSignal) {
    this.#worker = new Worker(csvThread.url, {
      env: {},
      execArgv: ["--enable-source-maps"],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: 4 },
    });
    this.#worker.on("message", (message: FromCsvThread) => this.#answer(message));
    this.#worker.on("error", (error) => this.#die(failureOf(error)));
    this.#worker.on("exit", (code) => this.#die(died(`it ended with code ${code}`)));
    signal.addEventListener("abort", this.#abort);
    if (signal.aborted) this.#abort();
  }

  /** Sends a message, transferring its bytes, and resolves with the answer. */
  ask(message: ToCsvThread): Promise<FromCsvThread> {
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(this.#failure);
      this.#answer = resolve;
      this.#fail = reject;
      const bytes = message.type === "chunk" ? message.bytes : null;
      this.#worker.postMessage(message, bytes ? [bytes.buffer as ArrayBuffer] : []);
    });
  }

  /** Ends the thread at once. */
  async end(): Promise<void> {
    this.signal.removeEventListener("abort", this.#abort);
    await this.#worker.terminate();
  }

  readonly #abort = (): void => {
    this.#die(stopped(this.signal));
    void this.#worker.terminate();
  };

  #die(error: Error): void {
    this.#failure ??= error;
    this.#fail(this.#failure);
  }
}

/** Returns a chunk with its own buffer, so that nothing else is transferred with it. */
const ownBytes = (chunk: Buffer): Uint8Array =>
  chunk.byteLength === chunk.buffer.byteLength ? chunk : new Uint8Array(chunk);

function errorOf({ error, job }: Extract<FromCsvThread, { type: "failed" }>): Error {
  if (job === null) return error;
  const { retryable, ...options } = job;
  return retryable === false
    ? new NonRetryableError(error.message, options)
    : new JobError(error.message, { ...options, retryable });
}

function failureOf(error: Error): JobError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ERR_WORKER_OUT_OF_MEMORY") return died("it ran out of memory", "temporary_resource");
  return died(error.message, code === "ERR_WORKER_INIT_FAILED" ? "temporary_resource" : "internal");
}

const died = (why: string, errorType: "internal" | "temporary_resource" = "internal"): JobError =>
  new JobError(`the thread that reads the file died: ${why}`, { errorType });
