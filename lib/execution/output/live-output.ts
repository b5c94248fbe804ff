const FREE_BYTES = 1024 * 1024;
const MOST_BYTES = 8 * 1024 * 1024;
const WINDOW_CHARS = 16 * 1024;
const WINDOW_MS = 1000;

/**
 * Passes output on as it comes, within limits: the first MiB at once, then the newest 16 Ki characters once a second,
 * and after 8 MiB only the end of the output. A note replaces omitted output.
 */
export class LiveOutput {
  readonly #emit: (text: string) => void;
  #sent = 0;
  #recent = "";
  #skipped = 0;
  #leftOut = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(emit: (text: string) => void) {
    this.#emit = emit;
  }

  write(text: string, size: number): void {
    if (this.#sent + size <= FREE_BYTES && this.#recent === "") {
      this.#send(text, size);
      return;
    }
    this.#recent += text;
    if (this.#recent.length > 2 * WINDOW_CHARS) this.#trim();
    if (this.#sent < MOST_BYTES) this.#timer ??= setTimeout(() => this.#flush(), WINDOW_MS);
  }

  /** Sends waiting output. Returns how many bytes were omitted in total. */
  end(): number {
    if (this.#timer) clearTimeout(this.#timer);
    this.#flush();
    return this.#leftOut;
  }

  #flush(): void {
    this.#timer = null;
    if (this.#recent === "") return;
    if (this.#recent.length > WINDOW_CHARS) this.#trim();
    const gap = this.#skipped > 0 ? `\n[… ${this.#skipped} bytes left out …]\n` : "";
    const text = gap + this.#recent;
    this.#recent = "";
    this.#skipped = 0;
    this.#send(text, Buffer.byteLength(text));
  }

  #trim(): void {
    let cut = this.#recent.length - WINDOW_CHARS;
    const code = this.#recent.charCodeAt(cut);
    if (code >= 0xdc00 && code <= 0xdfff) cut += 1;
    const bytes = Buffer.byteLength(this.#recent.slice(0, cut));
    this.#skipped += bytes;
    this.#leftOut += bytes;
    this.#recent = this.#recent.slice(cut);
  }

  #send(text: string, size: number): void {
    this.#sent += size;
    this.#emit(text);
  }
}
