const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** The bytes that a parser has received and not yet made into records, and the line at which they begin. */
export class FedBytes {
  #chunks: Buffer[] = [];
  /** Offset in the file of the first chunk's first byte. */
  #offset = 0;
  /** Offset of the first byte after the last record. */
  #at = 0;
  #line: number;
  #endedWithReturn = false;
  #fed = 0;

  constructor(firstLine: number) {
    this.#line = firstLine;
  }

  feed(chunk: Buffer): void {
    if (chunk.length > 0) this.#chunks.push(chunk);
    this.#fed += chunk.length;
  }

  /** Bytes of the incomplete record. */
  get held(): number {
    return this.#fed - this.#at;
  }

  /** Returns where the next record begins. Skips empty lines and releases their bytes. */
  next(): { readonly line: number } {
    for (let [chunk] = this.#chunks; chunk; [chunk] = this.#chunks) {
      const start = this.#at - this.#offset;
      let stop = start;
      while (stop < chunk.length && (chunk[stop] === NEWLINE || chunk[stop] === RETURN)) stop += 1;
      this.#advance(this.#offset + stop);
      if (stop < chunk.length) break;
    }
    return { line: this.#line };
  }

  /** Advances to the end of the next record. `raw` holds its bytes with the line end, if wanted. */
  take(end: number, wantsRaw: boolean): { readonly line: number; readonly raw: Buffer | null } {
    const { line } = this.next();
    const raw = wantsRaw ? this.#slice(this.#at, end) : null;
    this.#advance(end);
    return { line, raw };
  }

  #slice(from: number, to: number): Buffer {
    const parts: Buffer[] = [];
    let base = this.#offset;
    for (const chunk of this.#chunks) {
      if (base + chunk.length > from && base < to) parts.push(chunk.subarray(Math.max(0, from - base), to - base));
      base += chunk.length;
    }
    return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
  }

  /** Counts line ends up to a position, and releases the chunks before it. */
  #advance(to: number): void {
    while (this.#at < to) {
      const [chunk] = this.#chunks;
      if (!chunk) return;
      const start = this.#at - this.#offset;
      const stop = Math.min(chunk.length, to - this.#offset);
      this.#countLines(chunk, start, stop);
      this.#at = this.#offset + stop;
      if (stop < chunk.length) return;
      this.#chunks.shift();
      this.#offset += chunk.length;
    }
  }

  #countLines(chunk: Buffer, start: number, stop: number): void {
    for (let index = start; index < stop; index += 1) {
      const byte = chunk[index];
      // The second half of CRLF was counted with the first.
      if (byte === RETURN || (byte === NEWLINE && !this.#endedWithReturn)) this.#line += 1;
      this.#endedWithReturn = byte === RETURN;
    }
  }
}
