import { expect, test } from "vitest";
import { CsvReader, type CsvRecord, LONGEST_RECORD_BYTES } from "./handlers/csv-records";
import { type RowBatch, readRows } from "./handlers/csv-rows";

function read(text: string | Buffer, size = 7): CsvRecord[] {
  const bytes = Buffer.from(text as string);
  const reader = new CsvReader();
  const records: CsvRecord[] = [];
  for (let at = 0; at < bytes.length; at += size) records.push(...reader.push(bytes.subarray(at, at + size)));
  return [...records, ...reader.flush()];
}

test.each([1, 2, 3, 5, 1000])("records come out right however the file is cut (%i bytes a chunk)", (size) => {
  const text = '\ufeffa,b,c\r\n1,"two, ""quoted""",3\n\n"multi\nline\r\n",x,\n,,\r\nü,🎉,"end"';
  expect(read(text, size)).toEqual([
    { line: 1, fields: ["a", "b", "c"] },
    { line: 2, fields: ["1", 'two, "quoted"', "3"] },
    { line: 4, fields: ["multi\nline\r\n", "x", ""] },
    { line: 7, fields: ["", "", ""] },
    { line: 8, fields: ["ü", "🎉", "end"] },
  ]);
});

test.each([1, 3, 1000])("a line that cannot be read is named, and the next one is read (%i bytes a chunk)", (size) => {
  const text = Buffer.concat([
    Buffer.from('a,b\n1,x"y\n"q"z,2\nfine,1\n'),
    Buffer.from([0x62, 0xff, 0x2c, 0x31, 0x0a, 0x61, 0x00, 0x2c, 0x31, 0x0a]),
    Buffer.from('"never closed,1\nfine,2\n'),
  ]);
  expect(read(text, size)).toEqual([
    { line: 1, fields: ["a", "b"] },
    { line: 2, reason: "a quote stands in an unquoted field" },
    { line: 3, reason: "text follows a closing quote" },
    { line: 4, fields: ["fine", "1"] },
    { line: 5, reason: "the line is not UTF-8" },
    { line: 6, reason: "the line holds a NUL character" },
    { line: 7, reason: "a quoted field is not closed" },
    { line: 8, fields: ["fine", "2"] },
  ]);
});

test("a quote that is never closed in a large file costs one line", () => {
  const lines = Array.from({ length: 200_000 }, (_unused, index) => `row ${index},1`);
  lines[3] = '"open,1';
  const records = read(`${lines.join("\n")}\n`, 65_536);
  expect(records).toHaveLength(lines.length);
  expect(records[3]).toEqual({ line: 4, reason: "a quoted field is not closed" });
  expect(records[4]).toEqual({ line: 5, fields: ["row 4", "1"] });
  expect(records.at(-1)).toEqual({ line: 200_000, fields: ["row 199999", "1"] });
});

test("a line longer than a record may be is given up as a whole", () => {
  const text = `a\n${"x".repeat(LONGEST_RECORD_BYTES * 2)},still the same line\nnext\n`;
  expect(read(text, 100_000)).toEqual([
    { line: 1, fields: ["a"] },
    { line: 2, reason: "the line is longer than 1 MiB" },
    { line: 3, fields: ["next"] },
  ]);
});

async function rowsOf(chunks: AsyncIterable<Buffer>): Promise<RowBatch[]> {
  const batches: RowBatch[] = [];
  for await (const batch of readRows(chunks)) batches.push(batch);
  return batches;
}

async function* of(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

test("columns get usable names, rows become objects, other lines become rejects", async () => {
  const [batch] = await rowsOf(of("name,,name,__proto__\nA,1,B,2\nshort,1\na,b,c,d,e\n"));
  expect(batch?.columns).toEqual(["name", "column_2", "name_2", "__proto__"]);
  expect(batch?.rows).toEqual([{ line: 2, json: '{"name":"A","column_2":"1","name_2":"B","__proto__":"2"}' }]);
  expect(batch?.rejects).toEqual([
    { line: 3, reason: "2 fields instead of 4" },
    { line: 4, reason: "5 fields instead of 4" },
  ]);
});

test.each(["", "\n\n", '"open', "\ufeff"])("a file without columns fails for good: %j", async (text) => {
  await expect(rowsOf(of(text))).rejects.toMatchObject({ retryable: false, errorType: "invalid_input" });
});

test("120 MB of CSV pass through bounded memory", { timeout: 60_000 }, async () => {
  const line = "some name,some.address@example.com,Some Street 12,12345,A town,2026-01-01,12.50,note\n";
  const chunk = Buffer.from(line.repeat(3000));
  const count = Math.ceil((120 * 1024 * 1024) / chunk.length);
  async function* chunks(): AsyncGenerator<Buffer> {
    yield Buffer.from("a,b,c,d,e,f,g,h\n");
    for (let index = 0; index < count; index += 1) yield Buffer.from(chunk);
  }
  global.gc?.();
  const before = process.memoryUsage().rss;
  let most = 0;
  let rows = 0;
  for await (const batch of readRows(chunks())) {
    rows += batch.rows.length;
    most = Math.max(most, process.memoryUsage().rss - before);
  }
  expect(rows).toBe(3000 * count);
  expect(most).toBeLessThan(200 * 1024 * 1024);
});
