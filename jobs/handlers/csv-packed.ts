import type { FoundCsv, ListRow, Reject, RowBatch } from "./csv-rows";

/** Texts in UTF-8, concatenated. */
export interface JoinedTexts {
  readonly bytes: Uint8Array;
  /** The length of each text in bytes. */
  readonly lengths: readonly number[];
}

/**
 * A batch of rows with its texts as bytes, which pass between threads without a copy and into the database without
 * escaping.
 */
export interface PackedBatch {
  readonly found: FoundCsv;
  readonly columns: readonly string[];
  readonly rejects: readonly Reject[];
  /** Bytes of the file read so far. */
  readonly bytesRead: number;
  readonly rowCount: number;
  /** Line numbers of the short rows, with the JSON of each in `jsons`. */
  readonly lines: readonly number[];
  readonly jsons: JoinedTexts;
  /** Long rows, each with its text for each column. */
  readonly long: readonly { readonly line: number; readonly texts: JoinedTexts }[];
}

/** Packs a batch of rows. Each part's bytes have their own buffer. */
export function packBatch({ rows, found, columns, rejects, bytesRead }: RowBatch): PackedBatch {
  const short: Extract<ListRow, { readonly json: string }>[] = [];
  const long: PackedBatch["long"][number][] = [];
  for (const row of rows) {
    if (row.fields) long.push({ line: row.line, texts: joinTexts(row.fields) });
    else short.push(row);
  }
  const jsons = joinTexts(short.map((row) => row.json));
  const lines = short.map((row) => row.line);
  return { found, columns, rejects, bytesRead, rowCount: rows.length, lines, jsons, long };
}

/** Returns a packed batch's buffers, to be transferred. */
export const buffersOf = ({ jsons, long }: PackedBatch): ArrayBuffer[] =>
  [jsons, ...long.map(({ texts }) => texts)].map(({ bytes }) => bytes.buffer as ArrayBuffer);

function joinTexts(texts: readonly string[]): JoinedTexts {
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.from(new ArrayBuffer(lengths.reduce((sum, length) => sum + length, 0)));
  let at = 0;
  for (const text of texts) at += bytes.write(text, at);
  return { bytes, lengths };
}
