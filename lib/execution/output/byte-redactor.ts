import { MASK } from "./patterns";
import type { SecretForms } from "./secret-forms";

/** A run of overlapping secrets is held back up to this size, because the next piece may continue it. */
const MOST_HELD = 256 * 1024;

interface Span {
  readonly start: number;
  end: number;
}

/** Masks known secrets in bytes that come in pieces, wherever the pieces are cut. All other bytes pass unchanged. */
export class ByteRedactor {
  /** True once a secret was masked. */
  hasMasked = false;
  readonly #forms: readonly Buffer[];
  readonly #longest: number;
  #held: Buffer = Buffer.alloc(0);

  constructor({ forms }: SecretForms) {
    this.#forms = forms.map((form) => Buffer.from(form));
    this.#longest = Math.max(0, ...this.#forms.map((form) => form.length));
  }

  /** Takes the next piece and returns the bytes that are decided. */
  push(bytes: Uint8Array): Buffer {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (this.#longest === 0) return piece;
    const all = Buffer.concat([this.#held, piece]);
    return this.#pass(all, Math.max(0, all.length - this.#longest + 1));
  }

  /** Returns the rest. */
  flush(): Buffer {
    return this.#pass(this.#held, this.#held.length);
  }

  /** Masks and returns everything that begins before `limit`; a secret that begins later may be incomplete. */
  #pass(bytes: Buffer, limit: number): Buffer {
    const parts: Buffer[] = [];
    let from = 0;
    let cut = limit;
    for (const { start, end } of this.#spans(bytes)) {
      if (start >= limit) break;
      if (end > limit && bytes.length - start < MOST_HELD) {
        cut = start;
        break;
      }
      parts.push(bytes.subarray(from, start), Buffer.from(MASK));
      from = end;
      cut = Math.max(cut, end);
      this.hasMasked = true;
    }
    parts.push(bytes.subarray(from, cut));
    this.#held = Buffer.from(bytes.subarray(cut));
    return Buffer.concat(parts);
  }

  /** Returns where secrets are, in order; touching ones are one span. */
  #spans(bytes: Buffer): Span[] {
    const found: Span[] = [];
    for (const form of this.#forms) {
      for (let at = bytes.indexOf(form); at !== -1; at = bytes.indexOf(form, at + 1)) {
        found.push({ start: at, end: at + form.length });
      }
    }
    found.sort((a, b) => a.start - b.start);
    const joined: Span[] = [];
    for (const span of found) {
      const last = joined.at(-1);
      if (last && span.start <= last.end) last.end = Math.max(last.end, span.end);
      else joined.push(span);
    }
    return joined;
  }
}
