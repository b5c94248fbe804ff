/**
 * Output of attempts: from raw bytes to text that can be stored and shown. Start with `AttemptCapture`, then
 * `StreamCapture`.
 *
 * Text is cleaned (clean-text.ts), known secrets are masked however the text is cut (redactor.ts), and the live log and
 * the tail are bounded. Results are cleaned in clean-result.ts; error messages are found in error-lines.ts and
 * traces.ts. Searches are linear in the text, because output may be hostile.
 */

import type { CommandUsage } from "../process/usage";
import type { CapturedOutput, OutputStream, RunContext } from "../types";
import type { SecretForms } from "./secret-forms";
import { type CapturedStream, StreamCapture } from "./stream-capture";

export interface ProcessEnd {
  readonly pid?: number | undefined;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly usage?: CommandUsage | undefined;
}

/** Output of an attempt that has started no process. */
export const NO_OUTPUT: CapturedOutput = Object.freeze({
  stdoutTail: "",
  stdoutBytes: 0,
  stderrTail: "",
  stderrBytes: 0,
  droppedBytes: 0,
});

const NOTHING: CapturedStream = { tail: "", bytes: 0, dropped: 0, leftOut: 0 };

/** Everything that the processes of one attempt print. Costs nothing while none is started. */
export class AttemptCapture {
  readonly #streams = new Map<OutputStream, StreamCapture>();
  readonly #secrets: SecretForms;
  readonly #ctx: Pick<RunContext, "onOutput" | "onLog">;

  constructor(secrets: SecretForms, ctx: Pick<RunContext, "onOutput" | "onLog">) {
    this.#secrets = secrets;
    this.#ctx = ctx;
  }

  get stdout(): StreamCapture {
    return this.#stream("stdout");
  }

  get stderr(): StreamCapture {
    return this.#stream("stderr");
  }

  /** Ends both streams; call it once. */
  finish(end: ProcessEnd): CapturedOutput {
    const stdout = this.#streams.get("stdout")?.finish() ?? NOTHING;
    const stderr = this.#streams.get("stderr")?.finish() ?? NOTHING;
    this.#logOmitted("standard output", stdout);
    this.#logOmitted("standard error", stderr);
    return {
      stdoutTail: stdout.tail,
      stdoutBytes: stdout.bytes,
      stderrTail: stderr.tail,
      stderrBytes: stderr.bytes,
      droppedBytes: stdout.dropped + stderr.dropped,
      ...(end.pid === undefined ? {} : { pid: end.pid }),
      ...(end.exitCode === undefined ? {} : { exitCode: end.exitCode }),
      ...(end.signal === undefined ? {} : { signal: end.signal }),
      ...end.usage,
    };
  }

  #logOmitted(name: string, { leftOut, bytes }: CapturedStream): void {
    if (leftOut > 0) this.#ctx.onLog("warn", `${leftOut} of ${bytes} bytes of ${name} are not in the log.`);
  }

  #stream(name: OutputStream): StreamCapture {
    const known = this.#streams.get(name);
    if (known) return known;
    const stream = new StreamCapture(this.#secrets, (text) => this.#ctx.onOutput(name, text));
    this.#streams.set(name, stream);
    return stream;
  }
}
