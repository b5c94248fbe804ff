import { isUtf8 } from "node:buffer";
import { SCAN_LIMITS } from "@/lib/contract/scan-json";
import { type ReportChange, TOO_MANY_VALUES } from "../clean-result";
import { parseCapturedInTurns, reportRepeatedKeys } from "../exact-json";

const [QUOTE, ESCAPE, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [OBJECT, END_OF_OBJECT, LIST, END_OF_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];
/** Bytes of `"value"` with each character escaped, which is more than the types of frames have. */
const MOST_NAME_BYTES = 2 + 6 * "value".length;

/** Keys of a frame that are read as JSON because they have escapes. Further ones are neither `type` nor `value`. */
const MOST_ESCAPED_KEYS = 100;

type Key = "type" | "value";
const [TYPE, VALUE] = [Buffer.from('"type"'), Buffer.from('"value"')];

/** Bytes of a line: those of a member's value, or of its beginning and what closes the lists and objects in it. */
interface Range {
  readonly from: number;
  readonly to: number;
  readonly closing: Buffer | null;
}

/**
 * Finds the `type` and the `value` of a frame in one pass over its bytes, without parsing it: to parse an object of a
 * hundred thousand keys takes a tenth of a second.
 */
export class FrameOutline {
  /** Counts the values of the frame; each empty list or object as two. */
  values = 1;
  /** False if no JSON object is in the line. */
  readonly isObject: boolean;
  readonly #line: Buffer;
  /** What closes the lists and objects around the current position. */
  readonly #closing: number[] = [];
  #isKeyNext = true;
  #key: Key | null = null;
  #escapedKeys = 0;
  #from = 0;
  #valuesBefore = 0;
  #type: Range | null = null;
  #value: Range | null = null;

  constructor(line: Buffer) {
    this.#line = line;
    this.isObject = /^[\t\r ]*\{/.test(line.toString("latin1", 0, MOST_NAME_BYTES)) && this.#read();
  }

  get type(): string | null {
    return this.#type && textOf(this.#textIn(this.#type).trim());
  }

  /** Returns the JSON text of `value`, or of the first 20,000 values in it; null if the frame has none. */
  valueText(): string | null {
    return this.#value && this.#textIn(this.#value);
  }

  /** True if `valueText` has only the first values. */
  get isCut(): boolean {
    return this.#value !== null && this.#value.closing !== null;
  }

  #textIn({ from, to, closing }: Range): string {
    return this.#line.toString("utf8", from, to) + (closing?.toString("latin1") ?? "");
  }

  #read(): boolean {
    const line = this.#line;
    for (let at = 0; at < line.length; at += 1) {
      const byte = line[at];
      if (byte === QUOTE) at = this.#readText(at);
      else if (byte === COMMA) this.#comma(at);
      else if (byte === COLON && this.#closing.length === 1) this.#beginMember(at + 1);
      else if (byte === OBJECT) this.#open(END_OF_OBJECT, at + 1);
      else if (byte === LIST) this.#open(END_OF_LIST, at + 1);
      else if ((byte === END_OF_OBJECT || byte === END_OF_LIST) && !this.#close(byte, at)) return false;
    }
    return this.#closing.length === 0;
  }

  /** Returns the position of the quotation mark that ends the text. */
  #readText(from: number): number {
    const line = this.#line;
    let at = from + 1;
    let isEscaped = false;
    for (; at < line.length && line[at] !== QUOTE; at += 1)
      if (line[at] === ESCAPE) {
        isEscaped = true;
        at += 1;
      }
    if (this.#isKeyNext && this.#closing.length === 1)
      this.#key = isEscaped ? this.#escapedKey(from, at + 1) : this.#keyIn(from, at + 1);
    return at;
  }

  /** Makes no text of other keys, because a frame may have a hundred thousand. */
  #keyIn(from: number, to: number): Key | null {
    if (to - from === TYPE.length && TYPE.compare(this.#line, from, to) === 0) return "type";
    return to - from === VALUE.length && VALUE.compare(this.#line, from, to) === 0 ? "value" : null;
  }

  #escapedKey(from: number, to: number): Key | null {
    if (to - from > MOST_NAME_BYTES || this.#escapedKeys >= MOST_ESCAPED_KEYS) return null;
    this.#escapedKeys += 1;
    const key = textOf(this.#line.toString("utf8", from, to));
    return key === "type" || key === "value" ? key : null;
  }

  #comma(at: number): void {
    this.values += 1;
    if (this.#closing.length === 1) this.#endMember(at);
    else this.#cutValue(at);
  }

  #open(closing: number, next: number): void {
    this.values += 1;
    this.#closing.push(closing);
    if (this.#closing.length > 1) this.#cutValue(next);
  }

  #close(byte: number, at: number): boolean {
    if (this.#closing.length === 1) this.#endMember(at);
    return this.#closing.pop() === byte;
  }

  #beginMember(from: number): void {
    this.#isKeyNext = false;
    this.#from = from;
    this.#valuesBefore = this.values;
    // Of members with the same key, the last one counts.
    if (this.#key === "type") this.#type = null;
    if (this.#key === "value") this.#value = null;
  }

  #endMember(to: number): void {
    if (this.#key === "type") this.#type = { from: this.#from, to, closing: null };
    if (this.#key === "value") this.#value ??= { from: this.#from, to, closing: null };
    this.#key = null;
    this.#isKeyNext = true;
  }

  #cutValue(to: number): void {
    if (this.#key !== "value" || this.#value !== null || this.values - this.#valuesBefore <= SCAN_LIMITS.nodes) return;
    this.#value = { from: this.#from, to, closing: Buffer.from(this.#closing.slice(1).reverse()) };
  }
}

/** Returns a JSON text's characters; null if it is none, or one longer than the names in a frame. */
function textOf(json: string): string | null {
  if (!json.startsWith('"') || json.length > MOST_NAME_BYTES) return null;
  try {
    return json.includes("\\") ? (JSON.parse(json) as string) : json.slice(1, -1);
  } catch {
    return null;
  }
}

/**
 * Parses the value of a result frame exactly (`parseCaptured`), and awaits `pause` between the parts. A value with more
 * than 20,000 values is cut after them, because no more than 10,000 are kept.
 * @throws SyntaxError or MalformedJson
 */
export async function readResult(line: Buffer, report: ReportChange, pause: () => Promise<void>): Promise<unknown> {
  const text = line.toString("utf8");
  const outline = new FrameOutline(line);
  await pause();
  const value = await readValue({ text, outline }, report, pause);
  if (!isUtf8(line)) report("bytes that are not UTF-8 are replaced");
  return value;
}

async function readValue(
  { text, outline }: { readonly text: string; readonly outline: FrameOutline },
  report: ReportChange,
  pause: () => Promise<void>,
): Promise<unknown> {
  if (outline.values <= SCAN_LIMITS.nodes)
    return ((await parseCapturedInTurns(text, report, pause)) as { readonly value?: unknown }).value;
  await reportRepeatedKeys(text, report, pause);
  const valueText = outline.valueText();
  if (valueText === null) return undefined;
  const value = await parseCapturedInTurns(valueText, report, pause);
  if (outline.isCut) report(TOO_MANY_VALUES);
  return value;
}
