import { expect, test } from "vitest";
import { bytesOf, cut, rowsOf } from "./csv.fixture";
import type { CsvOptions } from "./handlers/csv-dialect";

const REFUSED: readonly (readonly [what: string, file: Buffer, options?: CsvOptions])[] = [
  ["two delimiters that fit", bytesOf("a,b;c\n1,2;3\n", "utf8")],
  ["half a character at the end of UTF-16", Buffer.concat([bytesOf("\ufeffa,b\n1,2", "utf16le"), Buffer.from([0x33])])],
  ["half a surrogate pair in UTF-16", bytesOf("\ufeffa,b\n1,\ud83d\n", "utf16le")],
  ["UTF-32", Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0])],
  ["a mark of another encoding", bytesOf("\ufeffa,b\n", "utf16le"), { encoding: "utf-8" }],
  ["a line of Excel with another delimiter", bytesOf("sep=^\na^b\n1^2\n", "utf8")],
  ["a line of Excel that contradicts the payload", bytesOf("sep=;\na;b\n1;2\n", "utf8"), { delimiter: "," }],
  ["a workbook", Buffer.from("PK\u0003\u0004,a\n1,2\n", "latin1")],
  ["a gzip file", Buffer.from([0x1f, 0x8b, 8, 0, 0x2c, 0x0a, 1, 0x2c])],
  ["an HTML page", bytesOf("\n<!DOCTYPE html><p>Not found</p>\n", "utf8")],
  ["100,000 columns", bytesOf(`${"c,".repeat(99_999)}c\n1\n`, "utf8")],
  ["a title above the columns", bytesOf("Report\n\na,b\n1,2\n", "utf8")],
  ["one delimiter too many in every record", bytesOf("a,b\n1,2,\n3,4,\n", "utf8")],
  ["no record in UTF-8", bytesOf("a,b\n\u00e9,1\n\u00e8,2\n", "latin1")],
  ["a header that is not UTF-8", Buffer.from([0x61, 0xff, 0x2c, 0x62, 0x0a, 0x31, 0x2c, 0x32, 0x0a])],
];
test.each(REFUSED.map(([what, file, options]) => ({ what, file, options })))(
  "refuses $what",
  async ({ file, options }) => {
    await expect(rowsOf(cut(file, 5), options)).rejects.toMatchObject({ retryable: false, errorType: "invalid_input" });
  },
);

test.each(["", "\n\n", '"open', "\ufeff"])("a file without columns fails permanently: %j", async (text) => {
  await expect(rowsOf(cut(Buffer.from(text), 5))).rejects.toMatchObject({
    retryable: false,
    errorType: "invalid_input",
  });
});
