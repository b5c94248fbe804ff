import { TextCleaner } from "./clean-text";
import { errorMessage } from "./error-lines";
import { LiveOutput } from "./live-output";
import { StreamRedactor } from "./redactor";
import type { SecretForms } from "./secret-forms";
import { TailBuffer } from "./tail";

export const TAIL_BYTES = 192 * 1024;

export interface CapturedStream {
  readonly tail: string;
  readonly bytes: number;
  readonly dropped: number;
  /** Bytes that were not passed on live. */
  readonly leftOut: number;
}

/** One output stream of an attempt: cleaned, redacted, passed on live, and its tail kept. */
export class StreamCapture {
  readonly #redactor: StreamRedactor;
  readonly #tail = new TailBuffer(TAIL_BYTES);
  readonly #live: LiveOutput;
  #cleaner = new TextCleaner();
  #bytes = 0;
  /** Bytes of the processes that run now, so that an earlier process's output is not taken for theirs. */
  #processBytes = 0;
  #processes = 0;

  constructor(secrets: SecretForms, emit: (text: string) => void) {
    this.#redactor = new StreamRedactor(secrets);
    this.#live = new LiveOutput(emit);
  }

  push(bytes: Uint8Array): void {
    this.#keep(this.#redactor.push(this.#cleaner.push(bytes)));
  }

  /** Call when a process of the attempt begins to write. */
  beginProcess(): void {
    if (this.#processes === 0) this.#processBytes = 0;
    this.#processes += 1;
  }

  /** Ends one process's output; another process of the same attempt may follow. */
  endOfProcess(): void {
    this.#processes = Math.max(0, this.#processes - 1);
    this.#flush();
  }

  #flush(): void {
    this.#keep(this.#redactor.push(this.#cleaner.flush()));
    this.#keep(this.#redactor.flush());
    this.#cleaner = new TextCleaner();
  }

  /**
   * Returns the error message of the last process, at most 500 characters; null if there is none. See `errorMessage`.
   */
  errorMessage(): string | null {
    const bytes = this.#processBytes === 0 ? Buffer.alloc(0) : this.#tail.bytes();
    return errorMessage(bytes.subarray(Math.max(0, bytes.length - this.#processBytes)).toString("utf8"));
  }

  /** Ends the stream and returns what was captured. */
  finish(): CapturedStream {
    this.#flush();
    const leftOut = this.#live.end();
    const tail = this.#tail.bytes();
    const dropped = this.#bytes - tail.length;
    return { tail: tail.toString("utf8"), bytes: this.#bytes, dropped, leftOut };
  }

  #keep(text: string): void {
    if (text === "") return;
    const bytes = Buffer.from(text, "utf8");
    this.#bytes += bytes.length;
    this.#processBytes += bytes.length;
    this.#tail.append(bytes);
    this.#live.write(text, bytes.length);
  }
}
