import { NonRetryableError } from "@/lib/execution";

/** Encodings that a CSV file may have, by the names of the WHATWG encoding standard. */
export const CSV_ENCODINGS = ["utf-8", "utf-16le", "utf-16be", "windows-1252"] as const;
export type CsvEncoding = (typeof CSV_ENCODINGS)[number];

const MARKS: readonly { readonly bytes: readonly number[]; readonly encoding: CsvEncoding | "utf-32" }[] = [
  { bytes: [0xff, 0xfe, 0x00, 0x00], encoding: "utf-32" },
  { bytes: [0x00, 0x00, 0xfe, 0xff], encoding: "utf-32" },
  { bytes: [0xef, 0xbb, 0xbf], encoding: "utf-8" },
  { bytes: [0xff, 0xfe], encoding: "utf-16le" },
  { bytes: [0xfe, 0xff], encoding: "utf-16be" },
];
const LOOKED_AT = 4096;
/** Text in UTF-16 whose letters are mostly Latin has a NUL in nearly every pair of bytes; a third of them is enough. */
const NUL_SHARE = 1 / 3;

/**
 * Finds the encoding of a file by its first bytes: a byte order mark, or the NUL bytes of UTF-16 without one.
 * @throws NonRetryableError for UTF-32, or for a mark that contradicts the encoding that was asked for
 */
export function findEncoding(head: Buffer, asked?: CsvEncoding): { encoding: CsvEncoding; markBytes: number } {
  const mark = MARKS.find(({ bytes }) => bytes.every((byte, index) => head[index] === byte));
  if (mark?.encoding === "utf-32") throw unreadable("the file is UTF-32, which is not read");
  if (mark && asked !== undefined && asked !== mark.encoding) {
    throw unreadable(`the file begins with the byte order mark of ${mark.encoding}, not of ${asked}`);
  }
  return { encoding: asked ?? mark?.encoding ?? encodingByNuls(head), markBytes: mark?.bytes.length ?? 0 };
}

function encodingByNuls(head: Buffer): CsvEncoding {
  const pairs = Math.floor(Math.min(head.length, LOOKED_AT) / 2);
  let first = 0;
  let second = 0;
  for (let pair = 0; pair < pairs; pair += 1) {
    if (head[2 * pair] === 0) first += 1;
    if (head[2 * pair + 1] === 0) second += 1;
  }
  if (second > pairs * NUL_SHARE && first === 0) return "utf-16le";
  if (first > pairs * NUL_SHARE && second === 0) return "utf-16be";
  return "utf-8";
}

/** Turns the bytes of a file into UTF-8. UTF-8 itself passes unchecked: its reader rejects single records. */
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
