import { NonRetryableError } from "@/lib/execution/errors";

/** Supported encodings of CSV files, by their names in the WHATWG encoding standard. */
export const CSV_ENCODINGS = ["utf-8", "utf-16le", "utf-16be", "windows-1252"] as const;
export type CsvEncoding = (typeof CSV_ENCODINGS)[number];

const MARKS: readonly { readonly bytes: readonly number[]; readonly encoding: CsvEncoding | "utf-32" }[] = [
  { bytes: [0xff, 0xfe, 0x00, 0x00], encoding: "utf-32" },
  { bytes: [0x00, 0x00, 0xfe, 0xff], encoding: "utf-32" },
  { bytes: [0xef, 0xbb, 0xbf], encoding: "utf-8" },
  { bytes: [0xff, 0xfe], encoding: "utf-16le" },
  { bytes: [0xfe, 0xff], encoding: "utf-16be" },
];
const OTHER_FORMATS: readonly { readonly begins: string; readonly what: string }[] = [
  { begins: "504b0304", what: "a zip archive, as .xlsx and .ods files are" },
  { begins: "d0cf11e0", what: "an old Office file (.xls)" },
  { begins: "1f8b", what: "compressed with gzip" },
  { begins: "255044462d", what: "a PDF" },
];
const HTML = /^(?:\ufeff)?\s{0,100}<(?:!doctype html|html)[\s>]/i;
const LOOKED_AT = 4096;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
/** UTF-16 text of mostly Latin letters has a NUL in nearly every pair of bytes; a third of the pairs is enough. */
const NUL_SHARE = 1 / 3;

/**
 * Finds a file's encoding from its first bytes: a byte order mark, or the NUL bytes of UTF-16 without one.
 * @throws NonRetryableError for UTF-32, or for a mark that contradicts the encoding that was asked for
 */
export function findEncoding(head: Buffer, asked?: CsvEncoding): { encoding: CsvEncoding; markBytes: number } {
  const mark = MARKS.find(({ bytes }) => bytes.every((byte, index) => head[index] === byte));
  if (mark?.encoding === "utf-32") throw unreadable("the file is UTF-32, which is not read");
  if (mark && asked !== undefined && asked !== mark.encoding) {
    throw unreadable(`the file begins with the byte order mark of ${mark.encoding}, not of ${asked}`);
  }
  const markBytes = mark ? mark.bytes.length * timesAtStart(head, Buffer.from(mark.bytes)) : 0;
  return { encoding: asked ?? mark?.encoding ?? encodingByNuls(head), markBytes };
}

/** @throws NonRetryableError for a file of another format, whose bytes could pass for a CSV file of one column */
export function refuseOtherFormats(head: Buffer): void {
  const start = head.toString("hex", 0, 8);
  const found = OTHER_FORMATS.find(({ begins }) => start.startsWith(begins))?.what;
  const what = HTML.test(head.toString("utf8", 0, 256)) ? "an HTML page" : found;
  if (what !== undefined) throw unreadable(`the file is ${what}, not CSV; save it as CSV`);
}

/** Counts byte order marks. Programs that add a mark to a file that has one leave several. */
function timesAtStart(head: Buffer, mark: Buffer): number {
  let times = 0;
  while (head.subarray(times * mark.length, (times + 1) * mark.length).equals(mark)) times += 1;
  return times;
}

function encodingByNuls(head: Buffer): CsvEncoding {
  const pairs = Math.floor(Math.min(head.length, LOOKED_AT) / 2);
  let first = 0;
  let second = 0;
  for (let pair = 0; pair < pairs; pair += 1) {
    if (head[2 * pair] === 0) first += 1;
    if (head[2 * pair + 1] === 0) second += 1;
  }
  const lineEnd = head.findIndex((byte) => byte === NEWLINE || byte === RETURN);
  // A line end of one byte is not UTF-16: the file joins texts of two encodings.
  const endsLine = (at: number, nul: number) => lineEnd < 0 || (lineEnd % 2 === at && head[lineEnd + nul] === 0);
  if (second > pairs * NUL_SHARE && first === 0 && endsLine(0, 1)) return "utf-16le";
  if (first > pairs * NUL_SHARE && second === 0 && endsLine(1, -1)) return "utf-16be";
  return "utf-8";
}

/** Converts the bytes of a file to UTF-8. UTF-8 itself passes unchecked, because its reader rejects single records. */
export class ToUtf8 {
  readonly #decoder: TextDecoder | null;
  readonly #encoding: CsvEncoding;

  constructor(encoding: CsvEncoding) {
    this.#encoding = encoding;
    this.#decoder = encoding === "utf-8" ? null : new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  }

  /** @throws NonRetryableError where the bytes are not of this encoding */
  push(bytes: Buffer): Buffer {
    return this.#decoder ? this.#decode(this.#decoder, bytes, true) : bytes;
  }

  flush(): Buffer {
    return this.#decoder ? this.#decode(this.#decoder, Buffer.alloc(0), false) : Buffer.alloc(0);
  }

  #decode(decoder: TextDecoder, bytes: Buffer, stream: boolean): Buffer {
    try {
      return Buffer.from(decoder.decode(bytes, { stream }), "utf8");
    } catch {
      throw unreadable(`the file is not valid ${this.#encoding}`);
    }
  }
}

const unreadable = (message: string): Error => new NonRetryableError(message, { errorType: "invalid_input" });
