/**
 * Returns true if a JSON value is an element of a list or a name in an object, like CEL's `in`. The time is
 * proportional to the size of both together, while CEL compares every part of the value with every element.
 * @throws TypeError if `container` is neither a list nor an object
 */
export function isIn(value: unknown, container: unknown): boolean {
  if (typeof container !== "object" || container === null) throw new TypeError("in needs a list or an object");
  if (!Array.isArray(container)) return typeof value !== "object" && Object.hasOwn(container, String(value));
  if (typeof value !== "object" || value === null) return container.includes(value);
  const sizes = new Map<object, number>();
  return container.some((element) => isEqual(value, element, sizes));
}

/**
 * Compares two values, and stops at the first difference. `sizes` caches the entry counts of objects in the first
 * value.
 */
function isEqual(one: unknown, other: unknown, sizes: Map<object, number>): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return other.every((element, index) => isEqual(one[index], element, sizes));
  }
  const names = Object.keys(other);
  return (
    names.length === sizeOf(one, sizes) &&
    names.every(
      (name) =>
        Object.hasOwn(one, name) &&
        isEqual((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name], sizes),
    )
  );
}

function sizeOf(value: object, sizes: Map<object, number>): number {
  const known = sizes.get(value);
  if (known !== undefined) return known;
  const size = Object.keys(value).length;
  sizes.set(value, size);
  return size;
}
