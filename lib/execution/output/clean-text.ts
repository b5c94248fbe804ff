import { StringDecoder } from "node:string_decoder";
import { toWellFormed } from "../unicode";

const ESC = "\u001b";
const LONGEST_SEQUENCE = 4096;
// Window titles, hyperlinks, clipboard access and other strings for the terminal, up to their end or the line's.
const STRINGS = new RegExp(
  `(?:${ESC}[\\]PX^_]|[\\u0090\\u0098\\u009d-\\u009f])[^\\u0007${ESC}\\u009c\\r\\n]{0,${LONGEST_SEQUENCE}}(?:\\u0007|${ESC}\\\\|\\u009c)?`,
  "g",
);
const CONTROL = new RegExp(`(?:${ESC}\\[|\\u009b)([0-?]{0,64})[ -/]{0,8}([@-~])`, "g");
const OTHER = new RegExp(`${ESC}(?!\\[[0-9;]{0,64}m)[ -/]{0,8}[0-~]?`, "g");
const UNFINISHED = new RegExp(
  `(?:${ESC}[ -/]{0,8}|(?:${ESC}\\[|\\u009b)[0-?]{0,64}[ -/]{0,8}|` +
    `(?:${ESC}[\\]PX^_]|[\\u0090\\u0098\\u009d-\\u009f])[^\\u0007${ESC}\\u009c\\r\\n]{0,${LONGEST_SEQUENCE}}${ESC}?)$`,
);
const ANY_SEQUENCE = new RegExp(`[${ESC}\\u0090-\\u009f]`);

/** Replaces NUL and lone surrogates by U+FFFD, because PostgreSQL can store neither. */
export function storable(text: string): string {
  return toWellFormed(text.replaceAll("\u0000", "\ufffd"));
}

/**
 * Keeps colours (SGR) and drops every other terminal sequence: those move the cursor, erase, link or access the
 * clipboard.
 */
export function dropTerminalSequences(text: string): string {
  if (!ANY_SEQUENCE.test(text)) return text;
  return text
    .replace(STRINGS, "")
    .replace(CONTROL, (_whole, parameters: string, final: string) =>
      final === "m" && /^[0-9;]*$/.test(parameters) ? `${ESC}[${parameters}m` : "",
    )
    .replace(OTHER, "");
}

/** Converts the bytes of an output stream to storable text, however the bytes are cut into chunks. */
export class TextCleaner {
  readonly #decoder = new StringDecoder("utf8");
  #held = "";

  push(bytes: Uint8Array): string {
    return this.#clean(this.#held + this.#decoder.write(bytes as Buffer), false);
  }

  flush(): string {
    return this.#clean(this.#held + this.#decoder.end(), true);
  }

  #clean(text: string, isLast: boolean): string {
    this.#held = "";
    if (!isLast && ANY_SEQUENCE.test(text)) {
      const start = unfinishedSequence(text);
      this.#held = text.slice(start);
      return storable(dropTerminalSequences(text.slice(0, start)));
    }
    return storable(dropTerminalSequences(text));
  }
}

function unfinishedSequence(text: string): number {
  const tail = text.slice(-LONGEST_SEQUENCE - 2);
  const match = UNFINISHED.exec(tail);
  return match ? text.length - tail.length + match.index : text.length;
}
