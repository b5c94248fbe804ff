import { MASK, maskPatterns, openPrivateKey, patternSpans, privateKeyEnd, type Span } from "./patterns";
import type { SecretForms } from "./secret-forms";

const HOLD_CHARS = 8192;
const LONGEST_PRIVATE_KEY = 65_536;
/** The longest run of overlapping secrets that is held back whole, in characters. */
const LONGEST_RUN = 32_768;
/** Characters that may remain visible of a secret that the end of the output cut off. */
const HARMLESS_PREFIX = 3;

/** Masks known secrets and unmistakable credentials in a complete text. Use it for output and messages. */
export function redactText(text: string, secrets: SecretForms): string {
  return maskPatterns(redactLiterals(text, secrets));
}

/** Masks known secrets and nothing else. Use it for values that are handed on, such as a result. */
export function redactLiterals(text: string, secrets: SecretForms): string {
  return secrets.forms.length === 0 ? text : maskSpans(text, literalSpans(text, secrets));
}

/**
 * Masks secrets in text that comes in pieces, wherever the pieces are cut. Complete lines pass at once. An unfinished
 * line, the possible beginning of a secret and an unfinished private key are held back until more text decides.
 */
export class StreamRedactor {
  #pending = "";
  #insideKey = false;
  readonly #secrets: SecretForms;
  readonly #hold: number;

  constructor(secrets: SecretForms) {
    this.#secrets = secrets;
    this.#hold = Math.max(HOLD_CHARS, secrets.longest);
  }

  /** Takes the next piece and returns the text that can be shown. */
  push(text: string): string {
    this.#pending += text;
    if (this.#insideKey && !this.#leaveKey()) return "";
    const boundary = lastBoundary(this.#pending);
    if (boundary === 0 && this.#pending.length <= 2 * this.#hold) return "";
    const cut = this.#safeCut(boundary);
    const ready = this.#pending.slice(0, cut);
    this.#pending = this.#pending.slice(cut);
    return redactText(ready, this.#secrets) + this.#enterKey() + this.#shortenRun();
  }

  /** Returns the rest; a secret that the end cut short is masked as well. */
  flush(): string {
    const rest = this.#insideKey ? "" : this.#pending;
    this.#pending = "";
    this.#insideKey = false;
    const key = openPrivateKey(rest);
    if (key !== -1) return redactText(rest.slice(0, key), this.#secrets) + MASK;
    const partial = partialStart(rest, this.#secrets);
    const cutShort = rest.length - partial > HARMLESS_PREFIX;
    return cutShort ? redactText(rest.slice(0, partial), this.#secrets) + MASK : redactText(rest, this.#secrets);
  }

  #safeCut(boundary: number): number {
    const pending = this.#pending;
    let cut = boundary;
    let patterns: Span[] = [];
    if (pending.length - boundary > 2 * this.#hold) {
      cut = cutInLine(pending, pending.length - this.#hold, boundary);
      patterns = patternSpans(pending);
    }
    const key = openPrivateKey(pending);
    if (key !== -1) cut = Math.min(cut, key);
    cut = Math.min(cut, partialStart(pending, this.#secrets));
    return clearOf(cut, [...literalSpans(pending, this.#secrets), ...patterns]);
  }

  // Occurrences of a secret can overlap endlessly, such as `abab` in `ababab…`. A long run is shown as one mask, and
  // only its last occurrences are held back.
  #shortenRun(): string {
    if (this.#pending.length <= LONGEST_RUN) return "";
    const most = partialStart(this.#pending, this.#secrets);
    let [last, end] = [0, 0];
    for (const span of literalSpans(this.#pending, this.#secrets)) {
      if (span.start > Math.min(most, Math.max(0, end - 1))) break;
      last = span.start;
      end = Math.max(end, span.end);
    }
    this.#pending = this.#pending.slice(last);
    return last === 0 ? "" : MASK;
  }

  // A private key that grows beyond all limits is no longer held, but none of it is shown either.
  #enterKey(): string {
    if (this.#pending.length <= LONGEST_PRIVATE_KEY || openPrivateKey(this.#pending) !== 0) return "";
    this.#insideKey = true;
    this.#pending = this.#pending.slice(-HARMLESS_KEY_END);
    return MASK;
  }

  #leaveKey(): boolean {
    const end = privateKeyEnd(this.#pending);
    if (end === -1) {
      this.#pending = this.#pending.slice(-HARMLESS_KEY_END);
      return false;
    }
    this.#insideKey = false;
    this.#pending = this.#pending.slice(end);
    return true;
  }
}

// Longer than the closing line of a private key, so that a closing line cut in two is still found.
const HARMLESS_KEY_END = 128;

// A carriage return ends one state of a progress bar; each state is shown as it comes.
function lastBoundary(text: string): number {
  return Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1;
}

// Prefers to cut at a blank, and never cuts a character in two.
function cutInLine(text: string, wanted: number, least: number): number {
  for (let at = wanted; at > Math.max(least, wanted - HOLD_CHARS / 2); at -= 1) {
    if (text[at - 1] === " " || text[at - 1] === "\t") return at;
  }
  const code = text.charCodeAt(wanted);
  return code >= 0xdc00 && code <= 0xdfff ? wanted - 1 : wanted;
}

/** Returns the last position at or before `cut` that lies in no span. Reads each span once. */
function clearOf(cut: number, spans: Span[]): number {
  let start = 0;
  let end = 0;
  for (const span of spans.sort((a, b) => a.start - b.start)) {
    if (span.start >= cut) break;
    // Overlapping spans count as one.
    if (span.start >= end) start = span.start;
    end = Math.max(end, span.end);
  }
  return start < cut && cut < end ? start : cut;
}

function literalSpans(text: string, { forms }: SecretForms): Span[] {
  const spans: Span[] = [];
  for (const form of forms) {
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + 1)) {
      spans.push({ start: at, end: at + form.length });
    }
  }
  return spans.sort((a, b) => a.start - b.start);
}

function maskSpans(text: string, spans: readonly Span[]): string {
  let masked = "";
  let shown = 0;
  let end = -1;
  for (const span of spans) {
    if (span.start > end) {
      masked += (end === -1 ? "" : MASK) + text.slice(shown, span.start);
    }
    end = Math.max(end, span.end);
    shown = end;
  }
  return (end === -1 ? "" : masked + MASK) + text.slice(shown);
}

/**
 * Returns the start of the earliest suffix that could grow into a secret; the length of the text when there is none.
 */
function partialStart(text: string, secrets: SecretForms): number {
  let longest = 0;
  for (const form of secrets.forms) longest = Math.max(longest, cutLength(text, form, secrets));
  return text.length - longest;
}

/**
 * Returns the length of the text's longest end that begins a form and may have been cut. `isCut` says if that length
 * matters.
 */
export function cutLength(text: string, form: string, secrets: SecretForms): number {
  const from = Math.max(0, text.length - form.length + 1);
  const head = text.indexOf(form.slice(0, HARMLESS_PREFIX + 1), from);
  return head === -1 ? shortOverlap(text, form) : overlap(text.slice(head), form, secrets);
}

/** True if this many characters of a secret at the end of a text are masked. */
export const isCut = (length: number): boolean => length > HARMLESS_PREFIX;

// The length of the text's end, at most three characters, that begins the form.
function shortOverlap(text: string, form: string): number {
  for (let length = Math.min(HARMLESS_PREFIX, text.length); length > 0; length -= 1) {
    if (form.startsWith(text.slice(-length))) return length;
  }
  return 0;
}

// The longest end of the text that begins the form, in one pass whatever they repeat (Knuth, Morris, Pratt).
function overlap(text: string, form: string, { borders }: SecretForms): number {
  let table = borders.get(form);
  if (!table) {
    table = bordersOf(form);
    borders.set(form, table);
  }
  let matched = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    while (matched > 0 && (matched === form.length || form.charCodeAt(matched) !== code)) matched = table[matched] ?? 0;
    if (form.charCodeAt(matched) === code) matched += 1;
  }
  return matched === form.length ? (table[matched] ?? 0) : matched;
}

// For each prefix, the length of its longest proper prefix that is also its suffix.
function bordersOf(form: string): Int32Array {
  const table = new Int32Array(form.length + 1);
  let matched = 0;
  for (let at = 1; at < form.length; at += 1) {
    while (matched > 0 && form.charCodeAt(matched) !== form.charCodeAt(at)) matched = table[matched] ?? 0;
    if (form.charCodeAt(matched) === form.charCodeAt(at)) matched += 1;
    table[at + 1] = matched;
  }
  return table;
}
