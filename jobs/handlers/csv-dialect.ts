import { parse } from "csv-parse/sync";
import { NonRetryableError } from "@/lib/execution/errors";
import type { CsvEncoding } from "./csv-text";

export const DELIMITERS = [",", ";", "\t", "|"] as const;
export const QUOTES = ['"', "'", ""] as const;
const LOOKED_AT_RECORDS = 200;
/** LF, CRLF and CR end a line, even mixed in one file. */
export const LINE_ENDS = ["\r\n", "\n", "\r"];

export interface CsvOptions {
  readonly delimiter?: string | undefined;
  readonly quote?: string | undefined;
  readonly encoding?: CsvEncoding | undefined;
  readonly header?: boolean | undefined;
}

/** The delimiter and quote of a file. */
export interface Dialect {
  readonly delimiter: string;
  /** Empty: nothing is quoted. */
  readonly quote: string;
}

/** Returns the parser's options for files of a dialect. The caller checks field counts and stray quotes. */
export const parserOptions = ({ delimiter, quote }: Dialect) => ({
  delimiter,
  quote: quote === "" ? null : quote,
  // Without quotes there is nothing to escape.
  escape: quote === "" ? null : quote,
  record_delimiter: LINE_ENDS,
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
});

/**
 * Finds delimiter and quote from the beginning of a file (UTF-8). A delimiter has to occur in the first record and cut
 * the records into equally many fields; a file without any has one column.
 * @throws NonRetryableError when two delimiters fit equally well
 */
export function findDialect(head: Buffer, { isWhole }: { readonly isWhole: boolean }, asked: CsvOptions): Dialect {
  const quote = asked.quote ?? findQuote(head, asked.delimiter);
  if (asked.delimiter !== undefined) return { delimiter: asked.delimiter, quote };
  const scores = DELIMITERS.map((delimiter) => scoreOf(recordsOf(head, { delimiter, quote }, isWhole), delimiter));
  const usable = scores.filter(({ fields }) => fields > 1);
  const best = Math.max(...usable.map(({ equal }) => equal));
  const found = usable.filter(({ equal }) => equal === best);
  if (found.length > 1) {
    const names = found.map(({ delimiter }) => JSON.stringify(delimiter)).join(" or ");
    throw new NonRetryableError(`the delimiter can be ${names}; set "delimiter"`, {
      errorType: "invalid_input",
    });
  }
  return { delimiter: found[0]?.delimiter ?? ",", quote };
}

const SEP_LINE = /^("?)sep=([^\r\n])\1(?:\r\n|\r|\n|$)/i;

/**
 * Reads the line `sep=;` at the beginning of files for Excel, which names the delimiter and is not a record.
 * @returns the resulting options and the line's length in bytes; null when there is no such line
 * @throws NonRetryableError when the delimiter is not supported, or differs from the one that was asked for
 */
export function takeSepLine(head: Buffer, asked: CsvOptions): { options: CsvOptions; bytes: number } | null {
  const [line, , named] = SEP_LINE.exec(head.toString("utf8", 0, 16)) ?? [];
  if (line === undefined || named === undefined) return null;
  const delimiter = DELIMITERS.find((one) => one === named);
  if (delimiter === undefined || (asked.delimiter ?? delimiter) !== delimiter) {
    const wanted = asked.delimiter === undefined ? DELIMITERS : [asked.delimiter];
    const names = wanted.map((one) => JSON.stringify(one)).join(" or ");
    throw new NonRetryableError(`the first line names the delimiter ${JSON.stringify(named)}, not ${names}`, {
      errorType: "invalid_input",
    });
  }
  return { options: { ...asked, delimiter }, bytes: Buffer.byteLength(line) };
}

interface Score {
  readonly delimiter: string;
  /** Number of fields of the first record. */
  readonly fields: number;
  /** Share of records with as many fields as the first. */
  readonly equal: number;
}

function scoreOf(records: readonly (readonly string[])[], delimiter: string): Score {
  const fields = records[0]?.length ?? 0;
  const equal = records.filter((record) => record.length === fields).length;
  return { delimiter, fields, equal: records.length === 0 ? 0 : equal / records.length };
}

/**
 * Returns the quote. Single quotes count when they enclose each field of the first record and no field begins with a
 * double quote.
 */
function findQuote(head: Buffer, delimiter: string | undefined): string {
  const isQuoted = (field: string) => /^'.*'$/s.test(field) && field.length > 1;
  for (const candidate of delimiter === undefined ? DELIMITERS : [delimiter]) {
    const records = recordsOf(head, { delimiter: candidate, quote: "" }, true);
    if (records.some((record) => record.some((field) => field.startsWith('"')))) return '"';
    if (records.length > 0 && records[0]?.every(isQuoted)) return "'";
  }
  return '"';
}

function recordsOf(head: Buffer, dialect: Dialect, isWhole: boolean): string[][] {
  const records: string[][] = [];
  const take = (record: string[]) => void records.push(record);
  try {
    parse(head, { ...parserOptions(dialect), to: LOOKED_AT_RECORDS, on_record: take });
  } catch {
    // The head may end inside a quoted field.
    return records;
  }
  // The last record may continue after the head.
  return isWhole || records.length < 2 || records.length >= LOOKED_AT_RECORDS ? records : records.slice(0, -1);
}
