/*
 * Logging: JSON or readable lines, with secrets redacted. Logging never blocks, throws or ends the process; a full disk
 * or a stopped reader loses lines, which are counted. Start with `createLogger` below, then `redact.ts` and
 * `lossy-output.ts`.
 */

import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";
import { lossyOutput } from "./lossy-output";
import { prettyStream } from "./pretty";
import { redactFields, redactLogText } from "./redact";

export type { Logger };

export interface LogOptions {
  /** The name of the process: web, worker, scheduler, admin. */
  readonly process: string;
  readonly level: string;
  readonly format: "pretty" | "json";
  /** Output of the lines; standard output by default. */
  readonly stream?: DestinationStream;
}

/**
 * Returns a logger that redacts every field and message. Lines are written at once, without waiting. A full disk or a
 * stopped reader loses lines, which are counted, and neither blocks nor ends the process.
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
          const clean = args.map((arg) => (typeof arg === "string" ? redactLogText(arg) : arg));
          method.apply(this, clean as typeof args);
        },
      },
    },
    format === "pretty" ? prettyStream(out) : out,
  );
}
