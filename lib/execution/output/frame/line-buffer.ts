export interface Line {
  /** Valid until the next piece is added. For a line that is too long, its two ends. */
  readonly bytes: Buffer;
  /** Bytes of the whole line. */
  readonly size: number;
  readonly isWhole: boolean;
}

const FIRST_BYTES = 4096;
/** A larger buffer is not kept for the next line. */
const MOST_KEPT_BYTES = 64 * 1024;
const END_BYTES = 256;

/** Collects the pieces of one line, however small. Holds at most twice `most` bytes. */
export class LineBuffer {
  #bytes = Buffer.alloc(0);
  #length = 0;
  #size = 0;

  constructor(private readonly most: number) {}

  add(piece: Buffer): void {
    this.#size += piece.length;
    if (this.#size > this.most) {
      this.#keepEnds(piece);
      return;
    }
    if (this.#size > this.#bytes.length) this.#grow();
    piece.copy(this.#bytes, this.#length);
    this.#length += piece.length;
  }

  take(): Line {
    const line = { bytes: this.#bytes.subarray(0, this.#length), size: this.#size, isWhole: this.#size <= this.most };
    if (this.#bytes.length > MOST_KEPT_BYTES || !line.isWhole) this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    this.#size = 0;
    return line;
  }

  // Doubles the buffer, because a line may come byte by byte.
  #grow(): void {
    const larger = Buffer.alloc(Math.max(FIRST_BYTES, this.#size, Math.min(2 * this.#bytes.length, this.most)));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }

  // The two ends identify the lost line.
  #keepEnds(piece: Buffer): void {
    const seen = Buffer.concat([this.#bytes.subarray(0, this.#length), piece]);
    const ends = [seen.subarray(0, END_BYTES), seen.subarray(Math.max(END_BYTES, seen.length - END_BYTES))];
    this.#bytes = Buffer.concat(ends);
    this.#length = this.#bytes.length;
  }
}
