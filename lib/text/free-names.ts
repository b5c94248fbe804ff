/**
 * Makes names unique. A taken name gets the first free number from 2 on. Takes time proportional to the number of
 * names, for any names: each number of a name is tried once, and a taken name collides with at most one of them.
 */
export class FreeNames {
  readonly #given = new Set<string>();
  readonly #next = new Map<string, number>();

  /** `reserved`: names that numbering must not produce, because they will be requested. */
  constructor(
    private readonly numbered: (name: string, number: number) => string,
    private readonly reserved: ReadonlySet<string> = new Set(),
  ) {}

  take(name: string): string {
    const free = this.#given.has(name) ? this.#firstFree(name) : name;
    this.#given.add(free);
    return free;
  }

  #firstFree(name: string): string {
    for (let number = this.#next.get(name) ?? 2; ; number += 1) {
      const free = this.numbered(name, number);
      if (this.#given.has(free) || this.reserved.has(free)) continue;
      this.#next.set(name, number + 1);
      return free;
    }
  }
}
