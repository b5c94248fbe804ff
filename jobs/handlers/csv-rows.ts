import { NonRetryableError } from "@/lib/execution";
import { CsvReader, type CsvRecord } from "./csv-records";

export interface ListRow {
  readonly line: number;
  /** A JSON object: column name to text. */
  readonly json: string;
}

export interface Reject {
  readonly line: number;
  readonly reason: string;
}

export interface RowBatch {
  readonly columns: readonly string[];
  readonly rows: readonly ListRow[];
  readonly rejects: readonly Reject[];
  /** The batch covers the file up to this line. */
  readonly lastLine: number;
  /** Bytes of the file read so far. */
  readonly bytesRead: number;
}

const BATCH_ROWS = 1000;
const BATCH_CHARS = 1024 * 1024;
const MOST_COLUMNS = 1600;
const LONGEST_NAME = 200;

/**
 * Reads a CSV file whose first line names the columns, and yields its rows in batches. Every row gets a text for each
 * column; a line with more or fewer fields is a reject. Throws a `NonRetryableError` when there are no usable columns.
 */
export async function* readRows(chunks: AsyncIterable<Buffer>): AsyncGenerator<RowBatch> {
  const reader = new CsvReader();
  const rows = new RowCollector();
  let bytesRead = 0;
  for await (const chunk of chunks) {
    bytesRead += chunk.length;
    yield* rows.add(reader.push(chunk), bytesRead);
  }
  yield* rows.add(reader.flush(), bytesRead);
  yield rows.take(bytesRead);
}

class RowCollector {
  #columns: readonly string[] | null = null;
  #rows: ListRow[] = [];
  #rejects: Reject[] = [];
  #chars = 0;
  #lastLine = 1;

  *add(records: readonly CsvRecord[], bytesRead: number): Generator<RowBatch> {
    for (const record of records) {
      this.#lastLine = record.line;
      if (this.#columns === null) this.#columns = columnsOf(record);
      else if ("reason" in record) this.#rejects.push(record);
      else this.#addRow(record.line, record.fields, this.#columns);
      const isFull =
        this.#rows.length >= BATCH_ROWS || this.#chars >= BATCH_CHARS || this.#rejects.length >= BATCH_ROWS;
      if (isFull) yield this.take(bytesRead);
    }
  }

  take(bytesRead: number): RowBatch {
    if (this.#columns === null) throw noColumns("the file is empty");
    const batch = {
      columns: this.#columns,
      rows: this.#rows,
      rejects: this.#rejects,
      lastLine: this.#lastLine,
      bytesRead,
    };
    this.#rows = [];
    this.#rejects = [];
    this.#chars = 0;
    return batch;
  }

  #addRow(line: number, fields: readonly string[], columns: readonly string[]): void {
    if (fields.length !== columns.length) {
      this.#rejects.push({ line, reason: `${fields.length} fields instead of ${columns.length}` });
      return;
    }
    const json = JSON.stringify(Object.fromEntries(columns.map((column, index) => [column, fields[index]])));
    this.#chars += json.length;
    this.#rows.push({ line, json });
  }
}

function columnsOf(record: CsvRecord): string[] {
  if ("reason" in record) throw noColumns(record.reason);
  if (record.fields.length > MOST_COLUMNS) throw noColumns(`there are more than ${MOST_COLUMNS} columns`);
  const names: string[] = [];
  record.fields.forEach((field, index) => {
    names.push(freeName(field.trim().slice(0, LONGEST_NAME) || `column_${index + 1}`, names));
  });
  return names;
}

// A second column of the same name would hide the first.
function freeName(wanted: string, taken: readonly string[]): string {
  let name = wanted;
  for (let number = 2; taken.includes(name); number += 1) name = `${wanted}_${number}`;
  return name;
}

function noColumns(reason: string): NonRetryableError {
  return new NonRetryableError(`line 1 does not name the columns: ${reason}`, { errorType: "invalid_input" });
}
