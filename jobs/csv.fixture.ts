import type { CsvOptions } from "./handlers/csv-dialect";
import { type RowBatch, readRows } from "./handlers/csv-rows";

/** Returns the bytes of a text in an encoding. */
export const bytesOf = (text: string, encoding: "utf8" | "utf16le" | "utf16be" | "latin1"): Buffer =>
  encoding === "utf16be" ? Buffer.from(text, "utf16le").swap16() : Buffer.from(text, encoding);

/** Yields a file in chunks of this many bytes. */
export async function* cut(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export async function rowsOf(chunks: AsyncIterable<Buffer>, options?: CsvOptions): Promise<RowBatch[]> {
  const batches: RowBatch[] = [];
  for await (const batch of readRows(chunks, options)) batches.push(batch);
  return batches;
}
