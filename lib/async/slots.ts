/** Counts what each holder has open in this process, such as the streams of a user, up to a limit of `most` each. */
export class CountedSlots {
  readonly #taken = new Map<string, number>();

  constructor(private readonly most: number) {}

  /** Takes a slot. Returns the function that releases it, to be called once, or null if the holder has none left. */
  take(holder: string): (() => void) | null {
    const taken = this.#taken.get(holder) ?? 0;
    if (taken >= this.most) return null;
    this.#taken.set(holder, taken + 1);
    return () => {
      const left = (this.#taken.get(holder) ?? 1) - 1;
      if (left > 0) this.#taken.set(holder, left);
      else this.#taken.delete(holder);
    };
  }
}
