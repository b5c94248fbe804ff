import { expect, test } from "vitest";
import { bytesOf, cut, rowsOf } from "./csv.fixture";
import type { CsvOptions } from "./handlers/csv-dialect";
import { CsvReader, type CsvRecord, LONGEST_RECORD_BYTES } from "./handlers/csv-records";
import { readRows } from "./handlers/csv-rows";

async function read(text: string | Buffer, size = 7): Promise<CsvRecord[]> {
  const bytes = Buffer.from(text as string);
  const reader = new CsvReader({ delimiter: ",", quote: '"' });
  const records: CsvRecord[] = [];
  for (let at = 0; at < bytes.length; at += size) records.push(...(await reader.push(bytes.subarray(at, at + size))));
  return [...records, ...(await reader.flush())];
}

test.each([1, 2, 3, 5, 1000])("records are the same for any chunk size (%i bytes)", async (size) => {
  const text = 'a,b,c\r\n1,"two, ""quoted""",3\n\n"multi\nline\r\n",x,\n,,\r\nü,🎉,"end"';
  expect(await read(text, size)).toEqual([
    { line: 1, fields: ["a", "b", "c"] },
    { line: 2, fields: ["1", 'two, "quoted"', "3"] },
    { line: 4, fields: ["multi\nline\r\n", "x", ""] },
    { line: 7, fields: ["", "", ""] },
    { line: 8, fields: ["ü", "🎉", "end"] },
  ]);
});

test.each([1, 2, 1000])("CR, LF and CRLF end a line, also mixed in one file (%i bytes a chunk)", async (size) => {
  expect(await read('a,b\r1,2\n3,4\r\n\r"5\r6",7\r', size)).toEqual([
    { line: 1, fields: ["a", "b"] },
    { line: 2, fields: ["1", "2"] },
    { line: 3, fields: ["3", "4"] },
    { line: 5, fields: ["5\r6", "7"] },
  ]);
});

test.each([1, 3, 1000])("only the record with invalid text is rejected (%i bytes a chunk)", async (size) => {
  const text = Buffer.concat([
    Buffer.from('a,b\n1,x"y"z\n2,5" pipe\nfine,"1\n2"\n'),
    Buffer.from([0x62, 0xff, 0x2c, 0x31, 0x0a, 0x61, 0x00, 0x2c, 0x31, 0x0a]),
    Buffer.from('"l\n""l""",\ufffd\nlast"q,"a\nb"\nfine,2\n\ufeffa,b\n'),
  ]);
  expect(await read(text, size)).toEqual([
    { line: 1, fields: ["a", "b"] },
    { line: 2, reason: "a quote stands in an unquoted field" },
    { line: 3, reason: "a quote stands in an unquoted field" },
    { line: 4, fields: ["fine", "1\n2"] },
    { line: 6, reason: "the record is not UTF-8" },
    { line: 7, reason: "the record holds a NUL character" },
    { line: 8, fields: ['l\n"l"', "\ufffd"] },
    { line: 10, reason: "a quote stands in an unquoted field" },
    { line: 12, fields: ["fine", "2"] },
    { line: 13, reason: "a byte order mark stands before the record: files were joined" },
  ]);
});

const UNCERTAIN: readonly (readonly [what: string, file: string, line: number])[] = [
  ["a quote that is never closed", 'a,b\n"never closed,1\nfine,2\n', 2],
  ["a quote that is never closed in the last field", 'a,b\n1,2\n1,"', 3],
  ["text after a closing quote", 'a,b\n"q"z,2\nfine,1\n', 2],
  ["a closing quote in the middle of a cell with lines", 'a,b\n1,"a "b\nx,y\nz"\n', 2],
  ["a backslash before a quote", 'a,b\n1,"a\\"b\nx,y\nz"\n', 2],
  ["a blank before an opening quote", 'a,b\n1, "a\nx,y\nz"\n', 2],
  ["a record above the limit", `a,b\n1,"${"x,y\n".repeat(LONGEST_RECORD_BYTES / 4 + 1)}"\n3,4\n`, 2],
  ["a line above the limit", `a,b\n${"x".repeat(LONGEST_RECORD_BYTES + 100)}\n3,4\n`, 2],
];
test.each(UNCERTAIN)("%s fails the import, because record borders are uncertain", async (_what, file, line) => {
  await expect(read(file, 65_536)).rejects.toMatchObject({
    retryable: false,
    errorType: "invalid_input",
    message: expect.stringContaining(`the record that begins in line ${line} cannot be read`),
  });
});

test("a cell with 150,000 lines is one cell", async () => {
  const cell = Array.from({ length: 150_000 }, (_unused, index) => `x${index + 1},y`).join("\n");
  expect(await read(`id,text\n1,a\n2,"${cell}"\n3,b\n`, 65_536)).toEqual([
    { line: 1, fields: ["id", "text"] },
    { line: 2, fields: ["1", "a"] },
    { line: 3, fields: ["2", cell] },
    { line: 150_003, fields: ["3", "b"] },
  ]);
});

const FILES: readonly {
  readonly what: string;
  readonly file: Buffer;
  readonly options?: CsvOptions;
  readonly found?: object;
  readonly columns?: readonly string[];
  readonly rows: readonly (readonly string[])[];
}[] = [
  { what: "UTF-8 with its mark", file: bytesOf("\ufeffa,b\n1,ü\n", "utf8"), rows: [["1", "ü"]] },
  { what: "a mark before a quote", file: bytesOf('\ufeff"a","b"\n1,2\n', "utf8"), rows: [["1", "2"]] },
  {
    what: "UTF-16 LE with its mark",
    file: bytesOf("\ufeffa,b\r\n1,ü🎉\r\n", "utf16le"),
    found: { encoding: "utf-16le" },
    rows: [["1", "ü🎉"]],
  },
  {
    what: "UTF-16 BE with its mark",
    file: bytesOf("\ufeffa;b\r1;支払\r", "utf16be"),
    found: { encoding: "utf-16be", delimiter: ";" },
    rows: [["1", "支払"]],
  },
  {
    what: "UTF-16 LE without a mark",
    file: bytesOf("a,b\n1,2\n", "utf16le"),
    found: { encoding: "utf-16le" },
    rows: [["1", "2"]],
  },
  {
    what: "UTF-16 BE without a mark",
    file: bytesOf("a\tb\n1\t2\n", "utf16be"),
    found: { encoding: "utf-16be", delimiter: "\t" },
    rows: [["1", "2"]],
  },
  {
    what: "an encoding that is named",
    file: bytesOf("a,b\n1,\u00e9\n", "latin1"),
    options: { encoding: "windows-1252" },
    found: { encoding: "windows-1252" },
    rows: [["1", "é"]],
  },
  {
    what: "semicolons and decimal commas",
    file: bytesOf("a;b\n1,5;2\n3,5;4\n", "utf8"),
    rows: [
      ["1,5", "2"],
      ["3,5", "4"],
    ],
    found: { delimiter: ";" },
  },
  {
    what: "commas inside of quotes",
    file: bytesOf('"a, b";"c"\n"1, 2";3\n', "utf8"),
    columns: ["a, b", "c"],
    rows: [["1, 2", "3"]],
    found: { delimiter: ";" },
  },
  { what: "pipes", file: bytesOf("a|b\n1|2,3\n", "utf8"), rows: [["1", "2,3"]], found: { delimiter: "|" } },
  { what: "one column", file: bytesOf("a\n1;2\n", "utf8"), columns: ["a"], rows: [["1;2"]], found: { delimiter: "," } },
  {
    what: "single quotes",
    file: bytesOf("'a','b'\n'it''s','1,2'\n", "utf8"),
    rows: [["it's", "1,2"]],
    found: { quote: "'" },
  },
  {
    what: "apostrophes",
    file: bytesOf("a,b\n'tis,o'clock\n", "utf8"),
    rows: [["'tis", "o'clock"]],
    found: { quote: '"' },
  },
  {
    what: "no quotes at all",
    file: bytesOf('a,b\n"1,2"\n', "utf8"),
    options: { quote: "" },
    rows: [['"1', '2"']],
    found: { quote: "" },
  },
  {
    what: "a delimiter that is named",
    file: bytesOf("a,b;c\n1,2;3\n", "utf8"),
    options: { delimiter: "," },
    columns: ["a", "b;c"],
    rows: [["1", "2;3"]],
  },
  {
    what: "no header",
    file: bytesOf("1,2\n3,4\n", "utf8"),
    options: { header: false },
    columns: ["column_1", "column_2"],
    rows: [
      ["1", "2"],
      ["3", "4"],
    ],
    found: { header: false },
  },
  {
    what: "CR as line end",
    file: bytesOf("name,age\ralice,30\rbob,40\r", "utf8"),
    columns: ["name", "age"],
    rows: [
      ["alice", "30"],
      ["bob", "40"],
    ],
  },
  ...["sep=;\n", "SEP=;\r\n", '"sep=;"\r'].map((line) => ({
    what: `the line of Excel ${JSON.stringify(line)}`,
    file: bytesOf(`${line}a,x;b\n1,5;2\n`, "utf8"),
    columns: ["a,x", "b"],
    rows: [["1,5", "2"]],
    found: { delimiter: ";" },
  })),
  {
    what: "the line of Excel in UTF-16",
    file: bytesOf("\ufeffsep=\t\r\na\tb\r\n1\t2\r\n", "utf16le"),
    rows: [["1", "2"]],
    found: { delimiter: "\t", encoding: "utf-16le" },
  },
  { what: "two marks", file: bytesOf('\ufeff\ufeff"a",b\n1,2\n', "utf8"), rows: [["1", "2"]] },
  {
    what: "what looks like numbers and formulas, as it stands",
    file: bytesOf("a,b\n01234,9007199254740993\n=1+1,-1e5\n\\N,c:\\x\n", "utf8"),
    rows: [
      ["01234", "9007199254740993"],
      ["=1+1", "-1e5"],
      ["\\N", "c:\\x"],
    ],
  },
  {
    what: "lines of delimiters",
    file: bytesOf("a,b\n,\n1,2\n", "utf8"),
    rows: [
      ["", ""],
      ["1", "2"],
    ],
  },
  { what: "lines that end in LF and CR", file: bytesOf("a,b\n\r1,2\n\r", "utf8"), rows: [["1", "2"]] },
  { what: "no line end at the end", file: bytesOf('a,b\n1,"2"', "utf8"), rows: [["1", "2"]] },
  { what: "NUL-free control characters", file: bytesOf("a,b\n\u0001,\u000b\n", "utf8"), rows: [["\u0001", "\u000b"]] },
];
test.each(FILES)(
  "reads $what, and reports the format",
  async ({ file, options, found, columns = ["a", "b"], rows }) => {
    for (const size of [1, 5, 1000]) {
      const [batch] = await rowsOf(cut(file, size), options);
      const values = batch?.rows.map(({ json }) => Object.values(JSON.parse(json ?? "")));
      expect({ columns: batch?.columns, values, rejects: batch?.rejects }).toEqual({
        columns,
        values: rows,
        rejects: [],
      });
      expect(batch?.found).toMatchObject({ delimiter: ",", quote: '"', encoding: "utf-8", header: true, ...found });
    }
  },
);

test("UTF-16 after UTF-8 is rejected, and the rest is not read as UTF-16", async () => {
  const file = Buffer.concat([Buffer.from("a,b\n1,2\n"), Buffer.from("3,4\n".repeat(9), "utf16le")]);
  const [batch] = await rowsOf(cut(file, 5));
  expect(batch).toMatchObject({ found: { encoding: "utf-8" }, rows: [{ json: '{"a":"1","b":"2"}' }] });
  expect(batch?.rejects[0]).toEqual({ line: 3, reason: "the record holds a NUL character" });
});

test("line numbers include Excel's sep= line", async () => {
  const [batch] = await rowsOf(cut(Buffer.from("sep=;\r\na;b\r\n1;2\r\nx\r\n"), 3));
  expect([batch?.rows[0]?.line, batch?.rejects[0]?.line]).toEqual([3, 4]);
});

test("a long column name is truncated between characters", async () => {
  const [batch] = await rowsOf(cut(Buffer.from(`${"a".repeat(199)}🎉z,b\n1,2\n`), 100));
  expect(batch?.columns).toEqual([`${"a".repeat(199)}🎉`, "b"]);
});

async function* of(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

test("columns get usable names, rows become objects, other lines are rejected", async () => {
  const [batch] = await rowsOf(of("name,,name,__proto__\nA,1,B,2\nshort,1\na,b,c,d,e\n"));
  expect(batch?.columns).toEqual(["name", "column_2", "name_2", "__proto__"]);
  expect(batch?.rows).toEqual([{ line: 2, json: '{"name":"A","column_2":"1","name_2":"B","__proto__":"2"}' }]);
  expect(batch?.rejects).toEqual([
    { line: 3, reason: "2 fields instead of 4" },
    { line: 4, reason: "5 fields instead of 4" },
  ]);
});

test("120 MB of CSV need bounded memory", { timeout: 240_000 }, async () => {
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
