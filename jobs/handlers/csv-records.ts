import { isUtf8 } from "node:buffer";

/** A record longer than this is taken for a quote that was never closed. */
export const LONGEST_RECORD_BYTES = 1024 * 1024;

/** One record of a CSV file, or the reason why a line is none. `line` counts from 1 and is where it begins. */
export type CsvRecord =
  | { readonly line: number; readonly fields: readonly string[] }
  | { readonly line: number; readonly reason: string };

const COMMA = 0x2c;
const QUOTE = 0x22;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Cuts a CSV file (RFC 4180, UTF-8, with or without byte order mark) into records, in bounded memory: what is held at
 * once is a chunk and one record. A line that cannot be read is reported and reading goes on with the next line, also
 * after a quote that nobody closed. Empty lines are left out.
 */
export class CsvReader {
  #rest: Buffer = Buffer.alloc(0);
  #line = 1;
  #atStart = true;
  #skipsLine = false;

  /** Takes the next bytes and returns the records that they complete. */
  push(chunk: Buffer): CsvRecord[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    if (this.#atStart && this.#rest.length < BOM.length) return [];
    return this.#read(false);
  }

  /** Returns what is left when the file has ended. */
  flush(): CsvRecord[] {
    return this.#read(true);
  }

  #read(isEnd: boolean): CsvRecord[] {
    const bytes = this.#rest;
    const records: CsvRecord[] = [];
    let at = this.#atStart && bytes.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0;
    this.#atStart = false;
    if (this.#skipsLine) at = this.#skipLine(bytes);
    while (at < bytes.length) {
      const found = scanRecord(bytes, at, isEnd);
      if (found === null) break;
      const record = toRecord(bytes.subarray(at, found.end), found, this.#line);
      if (record) records.push(record);
      this.#skipsLine = found.isCutOff === true;
      this.#line += found.lines;
      at = found.next;
    }
    this.#rest = bytes.subarray(at);
    return records;
  }

  #skipLine(bytes: Buffer): number {
    const end = bytes.indexOf(NEWLINE);
    if (end === -1) return bytes.length;
    this.#skipsLine = false;
    this.#line += 1;
    return end + 1;
  }
}

interface Scanned {
  /** Where the record's text ends, and where the next one begins. */
  readonly end: number;
  readonly next: number;
  /** Line ends between here and there. */
  readonly lines: number;
  readonly problem?: string;
  /** The line goes on behind what was read of it. */
  readonly isCutOff?: boolean;
  /** Where the commas between fields stand; only for a record with quotes. */
  readonly commas?: readonly number[];
}

// Null: more bytes are needed to tell.
function scanRecord(bytes: Buffer, start: number, isEnd: boolean): Scanned | null {
  const commas: number[] = [];
  let quotedLines = 0;
  let hasQuotes = false;
  for (let at = start; ; ) {
    if (bytes[at] === QUOTE) {
      hasQuotes = true;
      const closing = closingQuote(bytes, at + 1);
      if (closing === -1 || closing - start > LONGEST_RECORD_BYTES) return unclosed(bytes, start, isEnd);
      quotedLines += countLines(bytes, at, closing);
      at = closing + 1;
      if (at >= bytes.length && !isEnd) return null;
      if (!endsField(bytes, at)) return giveUpLine(bytes, { start, isEnd, problem: "text follows a closing quote" });
    }
    const border = nextBorder(bytes, at);
    if (border >= bytes.length && !isEnd) return tooLong(bytes, start);
    if (bytes[border] === QUOTE)
      return giveUpLine(bytes, { start, isEnd, problem: "a quote stands in an unquoted field" });
    if (bytes[border] === COMMA) {
      commas.push(border);
      at = border + 1;
      continue;
    }
    const end = border > start && bytes[border - 1] === RETURN ? border - 1 : border;
    return { end, next: border + 1, lines: quotedLines + 1, ...(hasQuotes ? { commas } : {}) };
  }
}

// A doubled quote stands for one quote and closes nothing.
function closingQuote(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(QUOTE, from); at !== -1; at = bytes.indexOf(QUOTE, at + 2)) {
    if (bytes[at + 1] !== QUOTE) return at;
  }
  return -1;
}

function endsField(bytes: Buffer, at: number): boolean {
  const next = bytes[at];
  if (next === undefined || next === COMMA || next === NEWLINE) return true;
  return next === RETURN && (bytes[at + 1] === NEWLINE || at + 1 >= bytes.length);
}

function nextBorder(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === COMMA || byte === NEWLINE || byte === QUOTE) return at;
  }
  return bytes.length;
}

function countLines(bytes: Buffer, from: number, to: number): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE, from); at !== -1 && at < to; at = bytes.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}

function unclosed(bytes: Buffer, start: number, isEnd: boolean): Scanned | null {
  if (!isEnd && bytes.length - start <= LONGEST_RECORD_BYTES) return null;
  return giveUpLine(bytes, { start, isEnd, problem: "a quoted field is not closed" });
}

function tooLong(bytes: Buffer, start: number): Scanned | null {
  if (bytes.length - start <= LONGEST_RECORD_BYTES) return null;
  return { end: bytes.length, next: bytes.length, lines: 0, problem: "the line is longer than 1 MiB", isCutOff: true };
}

// Gives one line up, so that reading can go on with the next.
function giveUpLine(bytes: Buffer, line: { start: number; isEnd: boolean; problem: string }): Scanned | null {
  const end = bytes.indexOf(NEWLINE, line.start);
  if (end === -1 && !line.isEnd) return tooLong(bytes, line.start);
  const stop = end === -1 ? bytes.length : end;
  return { end: stop, next: stop + 1, lines: 1, problem: line.problem };
}

function toRecord(bytes: Buffer, { problem, commas, end }: Scanned, line: number): CsvRecord | null {
  if (problem) return { line, reason: problem };
  if (bytes.length === 0) return null;
  if (!isUtf8(bytes)) return { line, reason: "the line is not UTF-8" };
  if (bytes.includes(0)) return { line, reason: "the line holds a NUL character" };
  if (!commas) return { line, fields: bytes.toString("utf8").split(",") };
  const start = end - bytes.length;
  const borders = [...commas.map((comma) => comma - start), bytes.length];
  const fields = borders.map((border, index) =>
    fieldText(bytes, index === 0 ? 0 : (borders[index - 1] ?? 0) + 1, border),
  );
  return { line, fields };
}

function fieldText(bytes: Buffer, from: number, to: number): string {
  if (bytes[from] !== QUOTE) return bytes.toString("utf8", from, to);
  return bytes.toString("utf8", from + 1, to - 1).replaceAll('""', '"');
}
