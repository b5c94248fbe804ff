/** The size of a JSON value. */
export interface ValueSize {
  /** Length of its JSON; of a text, its own length. */
  readonly characters: number;
  /** Number of values in it, including itself. */
  readonly values: number;
}

/** Cache of lists and objects, because the templates of many triggers may name the same one. */
const measured = new WeakMap<object, ValueSize>();

/** Measures a JSON value that is not changed afterwards. Each list or object is measured once. */
export function sizeOfValue(value: unknown): ValueSize {
  if (typeof value === "string") return { characters: value.length, values: 1 };
  if (typeof value !== "object" || value === null) return { characters: String(value).length, values: 1 };
  const known = measured.get(value);
  if (known) return known;
  const size = { characters: JSON.stringify(value).length, values: countValues(value) };
  measured.set(value, size);
  return size;
}

/** Recursive, because the depth of the value was validated before. */
function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  let sum = 1;
  for (const inner of Object.values(value)) sum += countValues(inner);
  return sum;
}
