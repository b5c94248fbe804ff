/**
 * A crash as a runtime prints it: its message (empty when the beginning was cut off), and the index of its last line.
 */
export interface Trace {
  readonly message: readonly string[];
  readonly cause: string | null;
  readonly end: number;
}

type Lines = readonly string[];

// How far a message may reach above its first frame, and below its first line.
const MOST_MESSAGE_LINES = 20;
const MOST_GO_HEADER_LINES = 40;

const NAMED_ERROR = /(?:^|[\s([])[\w$.:]{0,200}(?:Error|Exception|Throwable|Failure|Rejection|Interrupt)(?:[:\s)\]]|$)/;
const PYTHON = /^(?:Traceback \(most recent call last\):| {2}File "[^"]{0,1000}", line \d{1,9})/;
const PYTHON_GROUP = /^ {2}\+ Exception Group Traceback/;
const PYTHON_CAUSE = "The above exception was the direct cause of the following exception:";
const LOG_LINE = /^(?:\[?\d{4}-\d\d-\d\d|\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL)\b)/;
const RUBY_SYNTAX = /^\S{1,1000}:\d{1,9}: syntax errors?\b/;
const RUBY = /^\S{1,1000}:\d{1,9}:in .{1,1000}(?:\([A-Z][\w:]{0,200}\)|unhandled exception)$/;
const GO = /^(?:panic|fatal error): /;
const GO_TRACE =
  /^(?:$|\t|goroutine \d|\S{1,500}\(|created by |r\w{1,5} {2,8}0x|exit status |\.\.\.additional|runtime stack:|\[)/;
const RUST = /^thread '.{0,200}' (?:\(\d{1,9}\) )?panicked at /;
const RUST_TRACE = /^(?:stack backtrace:|\s{1,8}\d{1,5}: |\s{1,20}at |note: )/;
const NODE_PLACE = /^(?:file:\/\/|node:|\/|[A-Za-z]:[\\/]).{0,1000}:\d{1,9}$/;
const CARET = /^\s{0,1000}\^{1,500}\s{0,8}$/;
const V8_FATAL = /^FATAL ERROR: /;
const V8_TRACE = /^(?:$|-{3,}|\s{0,8}\d{1,4}: 0x)/;

const FRAME_BEGIN = /^\s{1,16}(?:\d{1,4}: )?(at|from) \S/;
const FRAME_END = /(?:[)>]|:(?:line )?\d{1,9}|:in .{0,200})(?:,| \{)?$/;
const OTHER_FRAME =
  /^(?:\s{1,16}\.\.\. \d{1,9} (?:more|levels\.\.\.|common frames omitted)|\s{1,16}Suppressed: |\s{1,16}--- End of |#\d{1,4} |Stack trace:$| {2}thrown in |\t.{1,1000} called at .{1,1000} line \d{1,9}\.?$)/;

function isFrame(line: string): boolean {
  return (FRAME_BEGIN.test(line) && FRAME_END.test(line.slice(-210))) || OTHER_FRAME.test(line);
}

/**
 * Reads the crash that begins, or whose frames begin, at a line; null when there is none. `after` is the end of the
 * last one. A reader returns null only after a bounded number of lines, because the next line is read after it.
 */
export function traceAt(lines: Lines, at: number, after: number): Trace | null {
  const line = lines[at] ?? "";
  if (PYTHON.test(line) && !/^\s/.test(lines[at - 1] ?? "")) return pythonTrace(lines, at);
  if (PYTHON_GROUP.test(line)) return pythonGroup(lines, at);
  if (RUBY.test(line)) return rubyTrace(lines, at);
  if (RUBY_SYNTAX.test(line)) return rubySyntax(lines, at);
  if (GO.test(line)) return goTrace(lines, at);
  if (RUST.test(line)) return rustTrace(lines, at);
  if (V8_FATAL.test(line)) return { message: [line], cause: null, end: skip(lines, at + 1, V8_TRACE) - 1 };
  if (NODE_PLACE.test(line)) return nodeTrace(lines, at);
  if (line.startsWith('Exception in thread "')) return messageThenFrames(lines, at);
  if (isFrame(line) || line.startsWith("Caused by: ")) return framesFirst(lines, at, after);
  return null;
}

/** Returns the index of the first line from `at` on that does not match. */
function skip(lines: Lines, at: number, pattern: RegExp): number {
  let end = at;
  while (end < lines.length && pattern.test(lines[end] ?? "")) end += 1;
  return end;
}

/** Returns the lines from `at` up to the first one that `ends` a message; at most `most`. */
function messageFrom(lines: Lines, at: number, ends: (line: string) => boolean, most = MOST_MESSAGE_LINES): string[] {
  const message = [lines[at] ?? ""];
  while (message.length < most && at + message.length < lines.length) {
    const next = lines[at + message.length] ?? "";
    if (ends(next)) break;
    message.push(next);
  }
  return message;
}

function pythonTrace(lines: Lines, at: number): Trace | null {
  const begin = skip(lines, at + 1, /^\s+\S/);
  if ((lines[begin] ?? "") === "") return null;
  const message = messageFrom(lines, begin, (line) => line === "" || LOG_LINE.test(line) || PYTHON.test(line));
  const isChained = at >= 4 && lines[at - 2] === PYTHON_CAUSE;
  return { message, cause: isChained ? causeAbove(lines, at - 4) : null, end: begin + message.length - 1 };
}

/** Returns the first line of the message whose last line is at `at`. */
function causeAbove(lines: Lines, at: number): string | null {
  let begin = at;
  while (begin > 0 && at - begin < MOST_MESSAGE_LINES && !/^\s/.test(lines[begin - 1] ?? " ")) begin -= 1;
  return lines[begin] || null;
}

function pythonGroup(lines: Lines, at: number): Trace {
  const end = skip(lines, at + 1, /^\s+[|+]/);
  const message = lines.slice(at + 1, end).find((line) => /^ {2}\| \S/.test(line) && !line.includes("Traceback"));
  // Without a message, the lines still count as read: otherwise each of them would read those below it again.
  return { message: message === undefined ? [] : [message.slice(4)], cause: null, end: end - 1 };
}

function rubyTrace(lines: Lines, at: number): Trace {
  const message = messageFrom(lines, at, (line) => line === "" || isFrame(line) || RUBY.test(line));
  const below = lines.slice(at + 1, at + 1 + MOST_MESSAGE_LINES).findIndex(isFrame);
  if (below < 0) {
    // A source excerpt with a caret may follow instead of frames.
    const caret = lines.slice(at + 1, at + 8).findIndex((line) => CARET.test(line));
    return caret < 0
      ? { message: [message[0] ?? ""], cause: null, end: at }
      : { message, cause: null, end: at + 1 + caret };
  }
  let { end } = frames(lines, at + 1 + below);
  let cause: string | null = null;
  while (RUBY.test(lines[end + 1] ?? "")) {
    cause = lines[end + 1] ?? null;
    end = frames(lines, end + 2).end;
  }
  return { message, cause, end };
}

/** The source excerpt below may have a caret. */
function rubySyntax(lines: Lines, at: number): Trace {
  const caret = lines.slice(at + 1, at + 4).findIndex((line) => CARET.test(line));
  return { message: [lines[at] ?? ""], cause: null, end: caret < 0 ? at : at + 1 + caret };
}

function goTrace(lines: Lines, at: number): Trace | null {
  const goroutine = lines.slice(at, at + MOST_GO_HEADER_LINES).findIndex((line) => /^goroutine \d/.test(line));
  if (goroutine < 0) return null;
  const message = messageFrom(
    lines,
    at,
    (line) => line === "" || line.startsWith("[signal ") || /^goroutine \d/.test(line),
  );
  return { message, cause: null, end: skip(lines, at + goroutine, GO_TRACE) - 1 };
}

function rustTrace(lines: Lines, at: number): Trace {
  const message = messageFrom(lines, at, (line) => line === "" || RUST_TRACE.test(line));
  return { message, cause: null, end: skip(lines, at + message.length, RUST_TRACE) - 1 };
}

/** Node prints the place, the source and a caret (or blank lines) above the thrown value. */
function nodeTrace(lines: Lines, at: number): Trace | null {
  const caret = lines.slice(at + 1, at + 5).findIndex((line) => CARET.test(line));
  const isBlank = caret < 0 && [1, 2, 3].every((step) => lines[at + step] === "");
  if (caret < 0 && !isBlank) return null;
  const begin = skip(lines, caret < 0 ? at + 1 : at + 2 + caret, /^$/);
  return begin < lines.length ? messageThenFrames(lines, begin) : null;
}

function messageThenFrames(lines: Lines, at: number): Trace {
  const message = messageFrom(
    lines,
    at,
    (line) => isFrame(line) || /^(?:Caused by: |\(Use `node |Node\.js v)/.test(line),
  );
  const { cause, end } = frames(lines, at + message.length);
  while (message.length > 1 && message.at(-1) === "") message.pop();
  return { message, cause, end: Math.max(end, at + message.length - 1) };
}

/** Reads frames whose message is above them: the nearest line that names an error, or else the line right above. */
function framesFirst(lines: Lines, at: number, after: number): Trace {
  const { cause, end } = frames(lines, at);
  const isPhp = lines[at] === "Stack trace:";
  const first = Math.max(after + 1, at - MOST_MESSAGE_LINES);
  let begin = at - 1;
  while (begin >= first && (!NAMED_ERROR.test(lines[begin] ?? "") || lines[begin]?.startsWith(" ---> "))) begin -= 1;
  if (begin < first) begin = at - 1;
  if (begin <= after || lines[begin] === "") return { message: [], cause, end };
  const inner = lines.slice(begin + 1, at).find((line) => line.startsWith(" ---> "));
  const message = lines.slice(begin, at).filter((line) => !line.startsWith(" ---> "));
  if (isPhp && lines[end + 1] === "" && lines[end + 2]?.startsWith("Next ")) return phpNext(lines, end + 2, message);
  return { message, cause: cause ?? inner?.slice(6) ?? null, end };
}

/** PHP prints the cause first, and the exception that it caused below, after `Next`. */
function phpNext(lines: Lines, first: number, above: readonly string[]): Trace {
  let cause: readonly string[] = [];
  let message = above;
  let end = first - 2;
  for (let at = first; lines[end + 1] === "" && lines[at]?.startsWith("Next "); at = end + 2) {
    cause = message;
    const [line = "", ...rest] = messageFrom(lines, at, isFrame);
    message = [line.slice("Next ".length), ...rest];
    end = Math.max(at, frames(lines, at + message.length).end);
  }
  return { message, cause: cause[0]?.replace(/^(?:PHP )?Fatal error:\s{1,4}Uncaught /, "") ?? null, end };
}

/** Reads the frames from `at` on, with the causes between them and the error properties that Node prints below them. */
function frames(lines: Lines, at: number): { readonly cause: string | null; readonly end: number } {
  let cause: string | null = null;
  let next = at;
  while (next < lines.length) {
    const line = lines[next] ?? "";
    if (line.startsWith("Caused by: ")) {
      cause = line.slice(11);
      const more = lines.slice(next + 1, next + 1 + MOST_MESSAGE_LINES).findIndex(isFrame);
      next += 1 + Math.max(0, more);
    } else if (!isFrame(line)) {
      break;
    } else if (line.endsWith("{")) {
      const close = lines.indexOf("}", next);
      const end = close < 0 ? lines.length - 1 : close;
      const inner = lines.slice(next, end).find((one) => one.trimStart().startsWith("[cause]: "));
      cause = inner?.trimStart().slice(9) ?? cause;
      next = end + 1;
    } else next += 1;
  }
  return { cause, end: next - 1 };
}
