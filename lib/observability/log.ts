import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from "pino";
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

/** A logger whose every field and message passes the redaction first. Writes synchronously: no line is lost at exit. */
export function createLogger({ process: name, level, format, stream }: LogOptions): Logger {
  const out = stream ?? destination({ fd: 1, sync: true });
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
