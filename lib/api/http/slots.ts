/** Counts what each holder has open in this process, such as the streams of a user, up to a limit. */
export class Slots {
  readonly #taken = new Map<string, number>();

  constructor(private readonly most: number) {}

  /** Takes a slot. Returns the function that releases it, or null if the holder has no slot left. */
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
