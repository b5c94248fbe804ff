import type { Usage } from "../process/usage";
import type { AttemptOutput, OutputStream, RunContext } from "../types";
import type { SecretForms } from "./secret-forms";
import { StreamCapture } from "./stream-capture";

export interface ProcessEnd {
  readonly pid?: number | undefined;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly usage?: Usage | undefined;
}

/** Everything that the processes of one attempt print. */
export class AttemptCapture {
  readonly stdout: StreamCapture;
  readonly stderr: StreamCapture;

  constructor(secrets: SecretForms, ctx: Pick<RunContext, "onOutput">) {
    const to = (stream: OutputStream) => (text: string) => ctx.onOutput(stream, text);
    this.stdout = new StreamCapture(secrets, to("stdout"));
    this.stderr = new StreamCapture(secrets, to("stderr"));
  }

  /** Ends both streams; to be called once. */
  finish(end: ProcessEnd): AttemptOutput {
    const stdout = this.stdout.finish();
    const stderr = this.stderr.finish();
    return {
      stdoutHead: stdout.head,
      stdoutTail: stdout.tail,
      stdoutBytes: stdout.bytes,
      stderrHead: stderr.head,
      stderrTail: stderr.tail,
      stderrBytes: stderr.bytes,
      droppedBytes: stdout.dropped + stderr.dropped,
      ...(end.pid === undefined ? {} : { pid: end.pid }),
      ...(end.exitCode === undefined ? {} : { exitCode: end.exitCode }),
      ...(end.signal === undefined ? {} : { signal: end.signal }),
      ...end.usage,
    };
  }
}
