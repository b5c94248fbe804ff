/** How large a JSON value is. */
export interface ValueSize {
  /** Of its JSON; of a text itself, the text. */
  readonly characters: number;
  /** Values in it, with itself. */
  readonly values: number;
}

/** Of lists and objects, which the templates of many triggers may name one after the other. */
const measured = new WeakMap<object, ValueSize>();

/** Measures a JSON value that nobody changes. A list or object is measured once. */
export function sizeOfValue(value: unknown): ValueSize {
  if (typeof value === "string") return { characters: value.length, values: 1 };
  if (typeof value !== "object" || value === null) return { characters: String(value).length, values: 1 };
  const known = measured.get(value);
  if (known) return known;
  const size = { characters: JSON.stringify(value).length, values: countValues(value) };
  measured.set(value, size);
  return size;
}

/** Recursive: the depth of what is measured was checked before. */
function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  let sum = 1;
  for (const inner of Object.values(value)) sum += countValues(inner);
  return sum;
}
