import { Buffer } from "node:buffer";

/** Keeps the last `cap` bytes of a text that comes in pieces. */
export class TailBuffer {
  readonly #cap: number;
  #ring: Buffer | null = null;
  #written = 0;

  constructor(cap: number) {
    this.#cap = cap;
  }

  append(bytes: Buffer): void {
    this.#ring ??= Buffer.alloc(this.#cap);
    const kept = bytes.subarray(Math.max(0, bytes.length - this.#cap));
    const at = (this.#written + bytes.length - kept.length) % this.#cap;
    const first = kept.subarray(0, this.#cap - at);
    first.copy(this.#ring, at);
    kept.subarray(first.length).copy(this.#ring, 0);
    this.#written += bytes.length;
  }

  /** Returns the longest suffix of whole characters that fits. */
  bytes(): Buffer {
    if (!this.#ring) return Buffer.alloc(0);
    if (this.#written <= this.#cap) return this.#ring.subarray(0, this.#written);
    const at = this.#written % this.#cap;
    const suffix = Buffer.concat([this.#ring.subarray(at), this.#ring.subarray(0, at)]);
    return suffix.subarray(firstWholeCharacter(suffix));
  }
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

function firstWholeCharacter(bytes: Buffer): number {
  let at = 0;
  while (at < 4 && isContinuation(bytes[at])) at += 1;
  return at;
}
