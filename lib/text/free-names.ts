/**
 * Gives each name once. A name that is taken gets the first number from 2 on that makes it free. Takes time in proportion to
 * the names, whatever they are: each number of a name is tried once, and a taken name is met by one of them at most.
 */
export class FreeNames {
  readonly #given = new Set<string>();
  readonly #next = new Map<string, number>();

  /** `reserved`: names that numbers leave alone, because they will be asked for. */
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
