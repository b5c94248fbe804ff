import { stripVTControlCharacters } from "node:util";
import { shortMessage } from "./frames";
import { type Trace, traceAt } from "./traces";

/** Limits on what is read, from the end; a stack overflow in Java prints about 100,000 characters in 1,000 lines. */
const MOST_CHARS = 128 * 1024;
const MOST_READ_LINES = 5000;
const MOST_LINE_CHARS = 1000;
const MOST_LINES = 5;
const MOST_MESSAGE_CHARS = 330;
const MOST_LINES_BELOW = 20;

/** Lines that runtimes and build tools print below the error. */
const TRAILER =
  /^(?:\s{0,3}\d{1,3}: 0x[0-9a-f]{4,16} |----- Native stack trace -----|Node\.js v\d|exit status \d|\(Use `node --trace|note: (?:run with|Some details)|BEGIN failed--|Compilation failed in require|Execution of .{1,500} aborted due to|\d{1,9} errors?(?: generated)?\.?$|error: (?:compilation failed|could not compile|aborting due to)|For more information about this error|make(?:\[\d{1,4}\])?: \*\*\* |npm (?:ERR!|error) )/;
const COMPILER = /^\S{1,500}:\d{1,9}:(?:\d{1,9}:)? (?:fatal )?error: |^error\[E\d{4}\]: /;
/** A line of the program's own that explains its end better than a stack above it. */
const OWN_ERROR = /^(?:[\w./-]{1,100}: )?\[?(?:error|fatal(?: error)?|critical|panic)\b\]?[:\s]/i;

/**
 * Finds the error message in a failed program's standard error, at most 500 characters. That is the exception above or
 * below the frames of Node, Python, Java, Go, Ruby, Perl, PHP, Rust or .NET, with its cause; else the last line that is
 * not a note of the runtime. Reads the last 128 KiB and 5,000 lines of the text, in linear time.
 */
export function errorMessage(stderr: string): string | null {
  const lines = stripVTControlCharacters(stderr.slice(-MOST_CHARS))
    .split(/\r?\n|\r/)
    .slice(-MOST_READ_LINES)
    .map((line) => line.slice(0, MOST_LINE_CHARS).trimEnd());
  const trace = lastTrace(lines);
  const below = lines.slice((trace?.end ?? -1) + 1).filter((line) => line.trim() !== "" && !TRAILER.test(line));
  const own = trace === null || below.length > MOST_LINES_BELOW ? lastLine(lines, below) : below.findLast(isOwnError);
  if (own !== undefined) return shortMessage(own.trim());
  return trace === null ? null : shortMessage(textOf(trace));
}

const isOwnError = (line: string): boolean => OWN_ERROR.test(line);

function lastTrace(lines: readonly string[]): Trace | null {
  let last: Trace | null = null;
  let after = -1;
  for (let at = 0; at < lines.length; at += 1) {
    const found = traceAt(lines, at, after);
    if (!found) continue;
    if (found.message.length > 0) last = found;
    // No line is read twice, however the traces are cut.
    after = Math.max(at, found.end);
    at = after;
  }
  return last;
}

/** Returns a compiler's first error, because it is the one to fix; for other programs the last line. */
function lastLine(lines: readonly string[], below: readonly string[]): string | undefined {
  const isCompiler = lines.some((line) => COMPILER.test(line));
  if (isCompiler) return lines.find((line) => COMPILER.test(line));
  return below.at(-1) ?? lines.findLast((line) => line.trim() !== "");
}

function textOf({ message, cause }: Trace): string {
  const kept = message.slice(0, MOST_LINES).join("\n").trim();
  const text = kept.replace(/^(?:Exception in thread "[^"]{0,200}"|Unhandled exception\.|Uncaught) /, "");
  if (cause === null || text.includes(cause)) return text;
  return `${text.slice(0, MOST_MESSAGE_CHARS)}; caused by ${cause}`;
}
