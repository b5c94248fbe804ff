/**
 * A map of at most `most` entries, for values that can be made again. Adding a key to a full map first drops all other
 * entries, because tracking their use would slow down every read. Replacing the value of a known key drops nothing.
 */
export class BoundedMap<K, V> extends Map<K, V> {
  constructor(private readonly most: number) {
    super();
  }

  override set(key: K, value: V): this {
    if (this.size >= this.most && !this.has(key)) this.clear();
    return super.set(key, value);
  }

  /** Returns the value of a key; makes and keeps it if there is none. If `make` throws, nothing is kept. */
  getOrMake(key: K, make: (key: K) => V): V {
    const known = this.get(key);
    if (known !== undefined) return known;
    const made = make(key);
    this.set(key, made);
    return made;
  }
}
