import type { FieldProblem } from "../types";

/** Limits of the JSON that the queue stores, the same for the API, triggers, enqueues from code and edited retries. */
export const PAYLOAD_LIMITS = { maxBytes: 256 * 1024, maxDepth: 32, maxNodes: 10_000 } as const;

const MAX_PROBLEMS = 10;
const NUL = String.fromCharCode(0);

interface Visit {
  readonly value: unknown;
  readonly pointer: string;
  readonly depth: number;
}

interface Walk {
  readonly problems: FieldProblem[];
  readonly todo: Visit[];
  nodes: number;
}

/**
 * Lists what keeps a value from being stored exactly: NUL, lone surrogates, numbers that are not finite or beyond
 * ±(2^53−1), values that JSON does not have (undefined in arrays, functions, bigint, Map …), cycles, depth over 32,
 * more than 10,000 nodes, more than 256 KiB as UTF-8. An empty list means that the stored value equals the given one.
 * Iterative, so that no nesting can exhaust the stack; reads own enumerable properties only. A Date counts as its ISO
 * string and a property that is undefined counts as missing, as in JSON.stringify.
 */
export function checkPayload(root: unknown, limits: { readonly maxBytes?: number } = {}): FieldProblem[] {
  const maxBytes = limits.maxBytes ?? PAYLOAD_LIMITS.maxBytes;
  const plainBytes = bytesIfPlain(root);
  if (plainBytes !== undefined) return plainBytes <= maxBytes ? [] : sizeProblems(root, maxBytes);
  const walk: Walk = { problems: [], todo: [{ value: root, pointer: "", depth: 0 }], nodes: 0 };
  for (let visit = walk.todo.pop(); visit !== undefined; visit = walk.todo.pop()) {
    walk.nodes += 1;
    if (walk.nodes > PAYLOAD_LIMITS.maxNodes) {
      // A cycle of containers also ends here or at the depth limit, so no separate bookkeeping is needed.
      walk.problems.push(problem("", "too-many-nodes", `has more than ${PAYLOAD_LIMITS.maxNodes} values`));
      return walk.problems;
    }
    checkValue(visit, walk);
    if (walk.problems.length >= MAX_PROBLEMS) return walk.problems;
  }
  return walk.problems.length === 0 ? sizeProblems(root, maxBytes) : walk.problems;
}

function sizeProblems(root: unknown, maxBytes: number): FieldProblem[] {
  const bytes = Buffer.byteLength(JSON.stringify(root) ?? "", "utf8");
  return bytes > maxBytes ? [problem("", "too-large", `is ${bytes} bytes, at most ${maxBytes} are allowed`)] : [];
}

/**
 * True if a value is certainly JSON that can be stored, whatever its size, and reads back equal. A fast check that
 * returns false if in doubt (a Date, a property that is undefined, anything `checkPayload` refuses).
 */
export const isPlainJson = (root: unknown): boolean => bytesIfPlain(root) !== undefined;

/** Most bytes of a UTF-16 unit, which is an escape, and of a scalar with the characters around it. */
const BYTES_OF_UNIT = 6;
const BYTES_OF_SCALAR = 32;

/**
 * Returns an upper bound of the bytes of a value for which `isPlainJson` is true. Exact counting costs more than the
 * rest.
 */
function bytesIfPlain(root: unknown): number | undefined {
  const budget = { left: PAYLOAD_LIMITS.maxNodes, bytes: 0 };
  return isPlain(root, 0, budget) ? budget.bytes : undefined;
}

/** Recursion ends at the depth limit, so nesting cannot exhaust the stack. `budget` is shared, so a cycle ends too. */
function isPlain(value: unknown, depth: number, budget: { left: number; bytes: number }): boolean {
  budget.left -= 1;
  budget.bytes += BYTES_OF_SCALAR;
  if (budget.left < 0) return false;
  if (typeof value === "string") return isStorableText(value, budget);
  if (typeof value === "number") return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  if (typeof value !== "object") return typeof value === "boolean";
  if (value === null) return true;
  if (depth >= PAYLOAD_LIMITS.maxDepth) return false;
  if (Array.isArray(value)) {
    // By index, because `every` skips holes.
    for (let index = 0; index < value.length; index += 1) {
      if (!isPlain(value[index], depth + 1, budget)) return false;
    }
    return !("toJSON" in value);
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  for (const key of Object.keys(value)) {
    if (!isStorableText(key, budget) || !isPlain((value as Record<string, unknown>)[key], depth + 1, budget))
      return false;
  }
  return true;
}

function isStorableText(text: string, budget: { bytes: number }): boolean {
  budget.bytes += text.length * BYTES_OF_UNIT;
  return !text.includes(NUL) && text.isWellFormed();
}

function checkValue({ value, pointer, depth }: Visit, walk: Walk): void {
  switch (typeof value) {
    case "string":
      walk.problems.push(...stringProblems(value, pointer));
      return;
    case "number":
      walk.problems.push(...numberProblems(value, pointer));
      return;
    case "boolean":
      return;
    case "object":
      if (value !== null) checkContainer({ value, pointer, depth }, walk);
      return;
    default:
      walk.problems.push(problem(pointer, "not-json", `is a ${typeof value}, which JSON does not have`));
  }
}

function checkContainer(visit: Visit & { readonly value: object }, walk: Walk): void {
  const { value, pointer, depth } = visit;
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) walk.problems.push(problem(pointer, "not-json", "is not a valid date"));
    return;
  }
  if (depth >= PAYLOAD_LIMITS.maxDepth) {
    walk.problems.push(problem(pointer, "too-deep", `is nested deeper than ${PAYLOAD_LIMITS.maxDepth} levels`));
    return;
  }
  if (Array.isArray(value)) {
    // By index, because a hole would silently become null.
    for (let index = 0; index < value.length; index += 1)
      walk.todo.push({ value: value[index], pointer: `${pointer}/${index}`, depth: depth + 1 });
    if ("toJSON" in value) walk.problems.push(problem(pointer, "not-json", "is a list with its own toJSON"));
    return;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    walk.problems.push(
      problem(pointer, "not-json", `is a ${value.constructor?.name ?? "object"}, which JSON does not have`),
    );
    return;
  }
  for (const [key, item] of Object.entries(value)) checkProperty(key, item, visit, walk);
}

function checkProperty(key: string, item: unknown, parent: Visit, walk: Walk): void {
  const pointer = `${parent.pointer}/${escapePointer(key)}`;
  const inKey = stringProblems(key, pointer);
  walk.problems.push(...inKey);
  if (inKey.length === 0 && item !== undefined) walk.todo.push({ value: item, pointer, depth: parent.depth + 1 });
}

function stringProblems(text: string, pointer: string): FieldProblem[] {
  if (text.includes(NUL)) return [problem(pointer, "nul", "contains a NUL character")];
  if (!text.isWellFormed()) return [problem(pointer, "lone-surrogate", "contains half of a surrogate pair")];
  return [];
}

function numberProblems(value: number, pointer: string): FieldProblem[] {
  if (!Number.isFinite(value)) return [problem(pointer, "number", "is not a finite number")];
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) return [problem(pointer, "number", "is beyond ±(2^53 − 1)")];
  return [];
}

const problem = (pointer: string, code: string, detail: string): FieldProblem => ({
  pointer: cleanPointer(pointer),
  code,
  detail,
});

/** Cleans a pointer, because it is part of an answer and must not contain what cannot be stored. */
const cleanPointer = (pointer: string): string => pointer.replaceAll(NUL, "\u2400").toWellFormed();

/** Escapes one segment of a JSON pointer (RFC 6901 §3). */
export function escapePointer(segment: string): string {
  return segment.replaceAll("~", "~0").replaceAll("/", "~1");
}
