import { stripVTControlCharacters } from "node:util";
import { TextCleaner } from "./clean-text";
import { shortMessage } from "./frames";
import { LiveOutput } from "./live-output";
import { StreamRedactor } from "./redactor";
import type { SecretForms } from "./secret-forms";
import { HeadBuffer, TailBuffer } from "./tail";

export const HEAD_BYTES = 64 * 1024;
export const TAIL_BYTES = 192 * 1024;
const RECENT_CHARS = 2000;

export interface CapturedStream {
  readonly head: string;
  readonly tail: string;
  readonly bytes: number;
  readonly dropped: number;
  /** Bytes that were not passed on live. */
  readonly leftOut: number;
}

/** One output stream of an attempt: cleaned, redacted, passed on live, and kept as head and tail. */
export class StreamCapture {
  readonly #redactor: StreamRedactor;
  readonly #head = new HeadBuffer(HEAD_BYTES);
  readonly #tail = new TailBuffer(TAIL_BYTES);
  readonly #live: LiveOutput;
  #cleaner = new TextCleaner();
  #bytes = 0;
  #recent = "";

  constructor(secrets: SecretForms, emit: (text: string) => void) {
    this.#redactor = new StreamRedactor(secrets);
    this.#live = new LiveOutput(emit);
  }

  push(bytes: Uint8Array): void {
    this.#keep(this.#redactor.push(this.#cleaner.push(bytes)));
  }

  /** Ends one process's output; another process of the same attempt may follow. */
  endOfProcess(): void {
    this.#keep(this.#redactor.push(this.#cleaner.flush()));
    this.#keep(this.#redactor.flush());
    this.#cleaner = new TextCleaner();
  }

  /** The last line with something on it, at most 500 characters: often the reason of a failure. */
  lastLine(): string | null {
    const lines = stripVTControlCharacters(this.#recent)
      .split(/[\r\n]+/)
      .map((line) => line.trim());
    const line = lines.findLast((candidate) => candidate !== "");
    return line ? shortMessage(line) : null;
  }

  /** Ends the stream and says what is kept of it. */
  finish(): CapturedStream {
    this.endOfProcess();
    const leftOut = this.#live.end();
    const head = this.#head.bytes();
    const tail = this.#tail.bytes();
    const dropped = Math.max(0, this.#bytes - head.length - tail.length);
    return { head: head.toString("utf8"), tail: tail.toString("utf8"), bytes: this.#bytes, dropped, leftOut };
  }

  #keep(text: string): void {
    if (text === "") return;
    const bytes = Buffer.from(text, "utf8");
    this.#bytes += bytes.length;
    this.#recent = (this.#recent + text).slice(-RECENT_CHARS);
    this.#head.append(bytes);
    this.#tail.append(bytes);
    this.#live.write(text, bytes.length);
  }
}
