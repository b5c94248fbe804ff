import type { DestinationStream } from "pino";

const HIDDEN = new Set(["level", "time", "pid", "process", "msg", "err"]);

/** Converts JSON lines to one readable line each: time, process, level, message, fields. */
export function prettyStream(out: DestinationStream): DestinationStream {
  return { write: (line) => out.write(`${prettyLine(line)}\n`) };
}

function prettyLine(line: string): string {
  const entry = JSON.parse(line) as Record<string, unknown>;
  const fields = Object.entries(entry)
    .filter(([name]) => !HIDDEN.has(name))
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  const level = entry.level === "info" ? [] : [String(entry.level).toUpperCase()];
  const head = [String(entry.time).slice(11, 19), String(entry.process).padEnd(9), ...level, entry.msg, ...fields];
  const stack = (entry.err as { stack?: string; message?: string } | undefined)?.stack;
  return head.filter((part) => part !== undefined).join(" ") + (stack ? `\n${stack}` : "");
}
