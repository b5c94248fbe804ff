import { NonRetryableError } from "@/lib/execution/errors";
import { cutCharacters } from "@/lib/text/cut-characters";
import { FreeNames } from "@/lib/text/free-names";
import { type CsvOptions, findDialect, takeSepLine } from "./csv-dialect";
import { CsvReader, type CsvRecord } from "./csv-records";
import { type CsvEncoding, findEncoding, refuseOtherFormats, ToUtf8 } from "./csv-text";

/**
 * A row of the file. A long row has no JSON, which could be twelve times as large as the row: V8 ends the process when
 * such a text does not fit into the heap.
 */
export type ListRow =
  /** `json`: an object, column name to text. */
  | { readonly line: number; readonly json: string; readonly fields?: undefined }
  /** `fields`: the texts in the order of the columns. */
  | { readonly line: number; readonly json?: undefined; readonly fields: readonly string[] };

export interface Reject {
  readonly line: number;
  readonly reason: string;
}

/** How the file was read: options that were given, or detected. */
export interface FoundCsv {
  readonly delimiter: string;
  /** Empty: nothing is quoted. */
  readonly quote: string;
  readonly encoding: CsvEncoding;
  readonly header: boolean;
}

export interface RowBatch {
  readonly found: FoundCsv;
  readonly columns: readonly string[];
  readonly rows: readonly ListRow[];
  readonly rejects: readonly Reject[];
  /** Bytes of the file read so far. */
  readonly bytesRead: number;
}

const HEAD_BYTES = 64 * 1024;
const BATCH_ROWS = 1000;
const BATCH_CHARS = 1024 * 1024;
/** Rows with longer texts count as long. */
const LONG_ROW_CHARS = 64 * 1024;
const MOST_COLUMNS = 1600;
const LONGEST_NAME = 200;
const HOW_IT_IS_WRITTEN = "if the format was detected wrongly, set delimiter, quote, encoding or header";

/** What a reader holds of its file. */
export interface HeldBytes {
  /** Bytes of an incomplete record. */
  bytes: number;
}

/**
 * Reads a CSV file and yields its rows in batches. Every row has a text for each column; a record with more or fewer
 * fields is a reject. The first batch arrives before most of the file was read. `held` is up to date whenever the next
 * chunk is requested.
 * @throws NonRetryableError when there are no usable columns, records but no row, or where the file cannot be read with
 * certainty
 */
export async function* readRows(
  chunks: AsyncIterable<Buffer>,
  options: CsvOptions = {},
  held: HeldBytes = { bytes: 0 },
): AsyncGenerator<RowBatch> {
  const source = chunks[Symbol.asyncIterator]();
  try {
    yield* readFrom(source, { options, held });
  } finally {
    await source.return?.();
  }
}

async function* readFrom(
  source: AsyncIterator<Buffer>,
  { options, held }: { readonly options: CsvOptions; readonly held: HeldBytes },
): AsyncGenerator<RowBatch> {
  const head = await readHead(source);
  refuseOtherFormats(head.bytes);
  const { encoding, markBytes } = findEncoding(head.bytes, options.encoding);
  const text = new ToUtf8(encoding);
  const begin = text.push(head.bytes.subarray(markBytes));
  const sep = takeSepLine(begin, options);
  const first = begin.subarray(sep?.bytes ?? 0);
  const dialect = findDialect(first, { isWhole: head.isWhole }, sep?.options ?? options);
  const reader = new CsvReader(dialect, sep ? 2 : 1);
  const rows = new RowCollector({ ...dialect, encoding, header: options.header ?? true });
  let bytesRead = head.bytes.length;
  yield* rows.add(await reader.push(first), bytesRead);
  held.bytes = reader.heldBytes;
  for (let next = await source.next(); !next.done; next = await source.next()) {
    bytesRead += next.value.length;
    yield* rows.add(await reader.push(text.push(next.value)), bytesRead);
    held.bytes = reader.heldBytes;
  }
  yield* rows.add(await reader.push(text.flush()), bytesRead);
  yield* rows.add(await reader.flush(), bytesRead);
  rows.end();
  yield rows.take(bytesRead);
}

async function readHead(source: AsyncIterator<Buffer>): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const parts: Buffer[] = [];
  for (let length = 0; length < HEAD_BYTES; ) {
    const next = await source.next();
    if (next.done) return { bytes: Buffer.concat(parts), isWhole: true };
    parts.push(next.value);
    length += next.value.length;
  }
  return { bytes: Buffer.concat(parts), isWhole: false };
}

class RowCollector {
  #columns: readonly string[] | null = null;
  #rows: ListRow[] = [];
  #rejects: Reject[] = [];
  #chars = 0;
  #rowCount = 0;
  #rejectCount = 0;
  #firstReject: Reject | undefined;

  constructor(private readonly found: FoundCsv) {}

  *add(records: readonly CsvRecord[], bytesRead: number): Generator<RowBatch> {
    for (const record of records) {
      if (this.#columns === null) {
        this.#columns = columnsOf(record, this.found.header);
        if (this.found.header) continue;
      }
      if ("reason" in record) this.#reject(record);
      else this.#addRow(record.line, record.fields, this.#columns);
      const isFull =
        this.#rows.length >= BATCH_ROWS || this.#chars >= BATCH_CHARS || this.#rejects.length >= BATCH_ROWS;
      if (isFull) yield this.take(bytesRead);
    }
  }

  /** @throws NonRetryableError when there were records but no row: the file was misread, or is not the intended one */
  end(): void {
    if (this.#rowCount > 0 || !this.#firstReject) return;
    const { line, reason } = this.#firstReject;
    const records = this.#rejectCount === 1 ? "the only record is" : `all ${this.#rejectCount} records are`;
    throw new NonRetryableError(`${records} unusable, the first in line ${line}: ${reason}; ${HOW_IT_IS_WRITTEN}`, {
      errorType: "invalid_input",
    });
  }

  #reject(reject: Reject): void {
    this.#rejects.push(reject);
    this.#rejectCount += 1;
    this.#firstReject ??= reject;
  }

  take(bytesRead: number): RowBatch {
    if (this.#columns === null) throw noColumns("the file is empty");
    const batch = {
      found: this.found,
      columns: this.#columns,
      rows: this.#rows,
      rejects: this.#rejects,
      bytesRead,
    };
    this.#rows = [];
    this.#rejects = [];
    this.#chars = 0;
    return batch;
  }

  #addRow(line: number, fields: readonly string[], columns: readonly string[]): void {
    if (fields.length !== columns.length) {
      this.#reject({ line, reason: `${fields.length} fields instead of ${columns.length}` });
      return;
    }
    const chars = fields.reduce((sum, field) => sum + field.length, 0);
    const row: ListRow = chars > LONG_ROW_CHARS ? { line, fields } : { line, json: jsonOf(fields, columns) };
    this.#chars += row.json?.length ?? chars;
    this.#rows.push(row);
    this.#rowCount += 1;
  }
}

const jsonOf = (fields: readonly string[], columns: readonly string[]): string =>
  JSON.stringify(Object.fromEntries(columns.map((column, index) => [column, fields[index]])));

function columnsOf(record: CsvRecord, isHeader: boolean): string[] {
  if ("reason" in record) throw noColumns(`${record.reason}; ${HOW_IT_IS_WRITTEN}`);
  if (record.fields.length > MOST_COLUMNS) throw noColumns(`there are more than ${MOST_COLUMNS} columns`);
  // A second column with the same name would hide the first.
  const names = new FreeNames((name, number) => `${name}_${number}`);
  return record.fields.map((field, index) => {
    const name = isHeader ? cutCharacters(field.trim(), LONGEST_NAME) : "";
    return names.take(name || `column_${index + 1}`);
  });
}

function noColumns(reason: string): NonRetryableError {
  return new NonRetryableError(`the first record does not name the columns: ${reason}`, { errorType: "invalid_input" });
}
