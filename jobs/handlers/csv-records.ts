import { isUtf8 } from "node:buffer";
import { type CsvError, type InfoRecord, type Parser, parse } from "csv-parse";
import { parse as parseNow } from "csv-parse/sync";
import { NonRetryableError } from "@/lib/execution/errors";
import { type Dialect, parserOptions } from "./csv-dialect";
import { FedBytes } from "./fed-bytes";

/** A longer record ends the import, because a quote was never closed or the file is not CSV. */
export const LONGEST_RECORD_BYTES = 16 * 1024 * 1024;

/** The same limit for bytes that the parser does not count. A quote inside quotes is written twice. */
const MOST_HELD_BYTES = 2 * LONGEST_RECORD_BYTES + 1024 * 1024;

/** A record with more fields ends the import, because an array of millions of texts takes hundreds of megabytes. */
const MOST_FIELDS = 1_000_000;

/** Longer records are parsed a second time to check their quotes, which costs little beside reading them. */
const SHORT_BYTES = 64 * 1024;

/** One record of a CSV file, or the reason why it is rejected. `line` is where the record begins, counted from 1. */
export type CsvRecord =
  | { readonly line: number; readonly fields: readonly string[] }
  | { readonly line: number; readonly reason: string };

/**
 * Cuts a CSV file in UTF-8 into records, in bounded memory: a chunk and one record. Empty lines are left out.
 *
 * A record with certain borders but invalid text is rejected alone: a quote inside an unquoted field, a NUL, bytes that
 * are not UTF-8, a byte order mark in front. If the borders of records are uncertain, the file cannot be read and
 * `push` throws: a quote that is never closed, text after a closing quote, a quote after leading blanks, a record above
 * 16 MiB. A record of more than a million fields also ends the import, when a chunk ends inside it.
 */
export class CsvReader {
  readonly #parser: Parser;
  readonly #bytes: FedBytes;
  readonly #dialect: Dialect;
  readonly #suspicious: RegExp;
  #records: CsvRecord[] = [];

  /** `firstLine` is the line number at which the bytes begin. */
  constructor(dialect: Dialect, firstLine = 1) {
    this.#dialect = dialect;
    this.#bytes = new FedBytes(firstLine);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is looked for.
    this.#suspicious = dialect.quote === "'" ? /['\u0000\ufffd]/ : /["\u0000\ufffd]/;
    this.#parser = parse({
      ...parserOptions(dialect),
      max_record_size: LONGEST_RECORD_BYTES,
      // Records are taken in the callback; nothing goes through the parser's own queue.
      on_record: (fields: string[], { bytes_records: end }: InfoRecord) => this.#take(fields, end),
    });
    this.#parser.on("error", () => undefined);
  }

  /** Bytes of the last record, which is still incomplete. */
  get heldBytes(): number {
    return this.#bytes.held;
  }

  /**
   * Parses the next bytes and returns the records that they complete.
   * @throws NonRetryableError where the file cannot be read with certainty
   */
  async push(chunk: Buffer): Promise<CsvRecord[]> {
    this.#bytes.feed(chunk);
    await this.#settled((done) => this.#parser.write(chunk, done));
    // A file of empty lines has no record that releases them.
    const { line } = this.#bytes.next();
    if (this.heldBytes > MOST_HELD_BYTES) throw uncertain(line, "it is longer than 16 MiB; a quote may not be closed");
    // Not in the library's types; a test fails when a new version keeps it elsewhere.
    const { record } = (this.#parser as unknown as { readonly state: { readonly record: readonly string[] } }).state;
    if (record.length > MOST_FIELDS) throw uncertain(line, `it has more than ${MOST_FIELDS} fields`);
    return this.#taken();
  }

  /** Ends the file and returns the remaining records. */
  async flush(): Promise<CsvRecord[]> {
    this.#parser.resume();
    await this.#settled((done) => {
      this.#parser.once("error", done);
      this.#parser.once("end", () => done(null));
      this.#parser.end();
    });
    return this.#taken();
  }

  #settled(act: (done: (error: Error | null | undefined) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      act((error) => (error ? reject(this.#unreadable(error)) : resolve()));
    });
  }

  #taken(): CsvRecord[] {
    const records = this.#records;
    this.#records = [];
    return records;
  }

  #take(fields: string[], end: number): null {
    const { line, raw } = this.#bytes.take(
      end,
      fields.some((field) => this.#suspicious.test(field)),
    );
    const reason = fields[0]?.startsWith("\ufeff")
      ? "a byte order mark stands before the record: files were joined"
      : raw && this.#reasonAgainst(raw, fields, line);
    this.#records.push(reason === null ? { line, fields } : { line, reason });
    // The parser expects as many fields as in its first record. For each other record it would build an error with a
    // copy of the record, at many times the record's cost. Resetting the count makes every record a first one.
    (this.#parser.info as { records: number }).records = 0;
    return null;
  }

  #reasonAgainst(raw: Buffer, fields: readonly string[], line: number): string | null {
    if (raw.includes(0)) return "the record holds a NUL character";
    if (!isUtf8(raw)) return "the record is not UTF-8";
    const { quote } = this.#dialect;
    if (quote === "" || !fields.some((field) => field.includes(quote))) return null;
    if (raw.length <= SHORT_BYTES) {
      const text = raw.toString("utf8").replace(/(?:\r\n|\n|\r)$/, "");
      if (isWellFormed(text, fields, this.#dialect)) return null;
      const before = textBeforeStrayQuote(text, fields, this.#dialect);
      if (before !== null) return reasonAgainstStray(before, line);
    }
    try {
      parseNow(raw, { ...parserOptions(this.#dialect), relax_quotes: false });
      return null;
    } catch (error) {
      const { code, field } = error as CsvError & { field?: { toString(): string } };
      if (code !== "INVALID_OPENING_QUOTE")
        throw uncertain(line, "text follows a closing quote; inside a field a quote is written twice");
      return reasonAgainstStray(String(field), line);
    }
  }

  #unreadable(error: Error): Error {
    if (error instanceof NonRetryableError) return error;
    const { code } = error as CsvError;
    const { line } = this.#bytes.next();
    if (code === "CSV_QUOTE_NOT_CLOSED") return uncertain(line, "a quoted field is not closed");
    if (code === "CSV_MAX_RECORD_SIZE") return uncertain(line, "it is longer than 16 MiB; a quote may not be closed");
    return error;
  }
}

// A parser for a single record costs a hundred times as much as the record. The next two functions avoid it when the
// parsed fields and the record's text allow only one reading.

/** True if the record is what a program writes for these fields, with quotes where needed or everywhere. */
function isWellFormed(text: string, fields: readonly string[], { delimiter, quote }: Dialect): boolean {
  const quoted = (field: string) => quote + field.replaceAll(quote, quote + quote) + quote;
  const needsQuotes = (field: string) => [quote, delimiter, "\r", "\n"].some((mark) => field.includes(mark));
  const join = (isQuoted: (field: string) => boolean) =>
    fields.map((field) => (isQuoted(field) ? quoted(field) : field)).join(delimiter);
  return text === join(needsQuotes) || text === join(() => true);
}

/** Returns the text before the first quote in its field, if all fields of the record are unquoted; null otherwise. */
function textBeforeStrayQuote(text: string, fields: readonly string[], { delimiter, quote }: Dialect): string | null {
  // A field that equals its text and begins with a quote may be a quoted field with text after it.
  if (fields.some((field) => field.startsWith(quote)) || text !== fields.join(delimiter)) return null;
  const field = fields.find((one) => one.includes(quote));
  return field === undefined ? null : field.slice(0, field.indexOf(quote));
}

/** Some programs write blanks before a quote that opens a field. */
function reasonAgainstStray(before: string, line: number): string {
  if (before.trim() === "") throw uncertain(line, "blanks stand before an opening quote; remove them");
  return "a quote stands in an unquoted field";
}

function uncertain(line: number, what: string): NonRetryableError {
  return new NonRetryableError(`the record that begins in line ${line} cannot be read: ${what}`, {
    errorType: "invalid_input",
  });
}
