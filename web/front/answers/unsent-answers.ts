import type { IncomingMessage, ServerResponse } from "node:http";
import type { NextHandler } from "../render-page";

const MIB = 1024 * 1024;
/**
 * New requests of a line are refused above this. Thirty downloads whose readers all stand still hold as much; a client
 * that reads leaves most of its answer to the kernel.
 */
export const REFUSE_ABOVE_BYTES = 32 * MIB;
/** Answers of a line are ended above this. It leaves room for those that were begun before the refusals. */
export const MOST_LINE_BYTES = 64 * MIB;
/** Answers of the line with the most bytes are ended above this: a quarter of a small process's memory of 512 MiB. */
export const MOST_BYTES = 128 * MIB;
const WARN_EVERY_MS = 60_000;

interface Line {
  readonly name: string;
  /** The answers in progress, oldest first. */
  readonly answers: Set<Answer>;
  bytes: number;
}

interface Answer {
  readonly line: Line;
  readonly res: ServerResponse;
  bytes: number;
  /** Bytes that the framework has written and that its compression may not have taken yet. */
  uncompressed: number;
}

/**
 * Limits the memory of answers that their clients do not read. Counts, for each line (see `lineOf`) and in all, the
 * bytes that were written and that the kernel has not taken. Above the limits it ends the newest answers of the line
 * with the most bytes, by closing their connections, so that other lines lose nothing.
 */
export class UnsentAnswers {
  readonly #lines = new Map<string, Line>();
  readonly #warn: (line: string) => void;
  #bytes = 0;
  #warnedAt = Number.NEGATIVE_INFINITY;

  /** `warn` is called at most once a minute, when answers are ended or requests refused. */
  constructor(warn: (line: string) => void) {
    this.#warn = warn;
  }

  /** The bytes that wait in all lines. */
  get bytes(): number {
    return this.#bytes;
  }

  /** True if the line leaves so much unread that its new requests have to be refused. */
  isOver(name: string): boolean {
    const isOver = (this.#lines.get(name)?.bytes ?? 0) > REFUSE_ABOVE_BYTES;
    if (isOver) this.#warnOf(name);
    return isOver;
  }

  /**
   * Counts an answer until it is sent. Returns a function that makes the framework's handler count what it writes, too:
   * its compression keeps bytes that have not reached the response.
   */
  count(name: string, res: ServerResponse): (next: NextHandler) => NextHandler {
    const line = this.#lines.get(name) ?? { name, answers: new Set(), bytes: 0 };
    const answer: Answer = { line, res, bytes: 0, uncompressed: 0 };
    this.#lines.set(name, line);
    line.answers.add(answer);
    const measure = () => this.#measure(answer);
    onWritten(res, () => process.nextTick(measure));
    res.on("drain", measure);
    for (const end of ["finish", "close"]) res.once(end, () => this.#forget(answer));
    // A page that is rendered for the cache has another response.
    return (next) => (req, response) =>
      response === res ? countUncompressed(answer, next, { req, measure }) : next(req, response);
  }

  #measure(answer: Answer): void {
    const { line, res } = answer;
    if (!line.answers.has(answer)) return;
    const bytes = Math.max(res.writableLength, answer.uncompressed);
    const isMore = bytes > answer.bytes;
    this.#add(answer, bytes - answer.bytes);
    if (!isMore) return;
    while (line.bytes > MOST_LINE_BYTES) this.#endNewest(line);
    while (this.#bytes > MOST_BYTES) this.#endNewest(this.#largest(line));
  }

  #add(answer: Answer, bytes: number): void {
    answer.bytes += bytes;
    answer.line.bytes += bytes;
    this.#bytes += bytes;
  }

  #forget(answer: Answer): void {
    const { line } = answer;
    if (!line.answers.delete(answer)) return;
    this.#add(answer, -answer.bytes);
    if (line.answers.size === 0) this.#lines.delete(line.name);
  }

  #largest(than: Line): Line {
    let largest = than;
    for (const line of this.#lines.values()) if (line.bytes > largest.bytes) largest = line;
    return largest;
  }

  #endNewest(line: Line): void {
    let newest: Answer | undefined;
    for (const answer of line.answers) if (answer.bytes > 0) newest = answer;
    if (!newest) throw new Error("a line without unsent answers has unsent bytes");
    this.#warnOf(line.name);
    this.#forget(newest);
    newest.res.destroy();
  }

  #warnOf(name: string): void {
    if (performance.now() - this.#warnedAt < WARN_EVERY_MS) return;
    this.#warnedAt = performance.now();
    this.#warn(name);
  }
}

/** Calls `written` after each write, with the bytes that the writer passed on and whether it may write more. */
function onWritten(res: ServerResponse, written: (bytes: number, mayWriteMore: boolean) => void): void {
  const { write, end } = res;
  res.write = ((...args: Parameters<typeof write>) => {
    const mayWriteMore = write.apply(res, args);
    written(bytesOf(args[0]), mayWriteMore);
    return mayWriteMore;
  }) as typeof write;
  res.end = ((...args: Parameters<typeof end>) => {
    const ended = end.apply(res, args);
    written(bytesOf(args[0]), false);
    return ended;
  }) as typeof end;
}

const bytesOf = (chunk: unknown): number =>
  typeof chunk === "string" ? chunk.length : chunk instanceof Uint8Array ? chunk.byteLength : 0;

/**
 * Runs the framework, which replaces the response's methods by those of its compression before it returns, and counts
 * what goes into these. What was written waits there until they call for more.
 */
function countUncompressed(
  answer: Answer,
  next: NextHandler,
  { req, measure }: { readonly req: IncomingMessage; readonly measure: () => void },
): Promise<void> {
  const { res } = answer;
  const done = next(req, res);
  onWritten(res, (bytes, mayWriteMore) => {
    if (!mayWriteMore) answer.uncompressed += bytes;
    process.nextTick(measure);
  });
  // The compression passes this listener on to its own stream.
  res.on("drain", () => {
    answer.uncompressed = 0;
    measure();
  });
  return done;
}
