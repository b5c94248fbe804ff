import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";
import { lossyOutput } from "./lossy-output";
import { prettyStream } from "./pretty";
import { redactFields, redactText } from "./redact";

export type { Logger };

export interface LogOptions {
  /** Which process speaks: web, worker, scheduler, admin. */
  readonly process: string;
  readonly level: string;
  readonly format: "pretty" | "json";
  /** Where lines go; standard output unless given. */
  readonly stream?: DestinationStream;
}

/**
 * A logger whose every field and message passes the redaction first. Lines are written at once, and never wait: a full disk
 * or a stopped reader costs lines, which are counted, and neither blocks nor ends the process.
 */
export function createLogger({ process: name, level, format, stream }: LogOptions): Logger {
  const droppedLine = (count: number) =>
    `${JSON.stringify({ level: "warn", time: new Date().toISOString(), process: name, pid: process.pid, dropped: count, msg: "log lines dropped: the output was full or not read" })}\n`;
  const out = stream ?? lossyOutput(1, { droppedLine });
  return pino(
    {
      level,
      base: { process: name, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      serializers: { err: (error) => error },
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => redactFields(fields) as Record<string, unknown>,
      },
      hooks: {
        logMethod(args, method) {
          const clean = args.map((arg) => (typeof arg === "string" ? redactText(arg) : arg));
          method.apply(this, clean as typeof args);
        },
      },
    },
    format === "pretty" ? prettyStream(out) : out,
  );
}
