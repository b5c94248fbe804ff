/** Returns the text of `canonicalJson` in parts: at least one for each member, and for each entry of a member's list. */
export function* canonicalParts(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Date) {
    yield canonicalJson(value);
    return;
  }
  let before = "{";
  for (const [key, member] of sortedMembers(value)) {
    yield `${before}${JSON.stringify(key)}:`;
    if (Array.isArray(member)) yield* listParts(member);
    else yield canonicalJson(member);
    before = ",";
  }
  yield before === "{" ? "{}" : "}";
}

function* listParts(list: readonly unknown[]): Generator<string> {
  let before = "[";
  for (const item of list) {
    yield `${before}${canonicalJson(item ?? null)}`;
    before = ",";
  }
  yield before === "[" ? "[]" : "]";
}

/**
 * Returns JSON with sorted keys, which is equal for equal values. Only for values whose depth was validated before;
 * undefined members are left out.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(",")}]`;
  if (value instanceof Date || typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  return `{${sortedMembers(value)
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`)
    .join(",")}}`;
}

const sortedMembers = (value: object): [string, unknown][] =>
  Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([left], [right]) => (left < right ? -1 : 1));
