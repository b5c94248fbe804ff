import { checkPayload } from "../enqueue/payload-check.policy";
import type { Condition, FieldProblem } from "../types";
import { parseResultPath } from "./result-path.policy";

/** A condition as the database evaluates it, with its path parsed into steps. */
export interface StoredCondition extends Condition {
  readonly steps: readonly string[];
}

const MAX_VALUE_BYTES = 4096;
const MAX_CHOICES = 100;
const isScalar = (value: unknown): boolean => value === null || ["string", "number", "boolean"].includes(typeof value);

const VALUE_RULES: Readonly<Record<Condition["op"], readonly [(value: unknown) => boolean, string]>> = {
  eq: [isScalar, "must be a text, a number, true, false or null"],
  ne: [isScalar, "must be a text, a number, true, false or null"],
  gt: [isOrdered, "must be a number or a text"],
  gte: [isOrdered, "must be a number or a text"],
  lt: [isOrdered, "must be a number or a text"],
  lte: [isOrdered, "must be a number or a text"],
  in: [isChoice, `must be a list of 1 to ${MAX_CHOICES} texts, numbers, true, false or null`],
  exists: [(value) => value === undefined || typeof value === "boolean", "must be true, false or left out"],
};

function isOrdered(value: unknown): boolean {
  return typeof value === "number" || typeof value === "string";
}

function isChoice(value: unknown): boolean {
  return Array.isArray(value) && value.length >= 1 && value.length <= MAX_CHOICES && value.every(isScalar);
}

/** Parses a condition, or returns what is wrong with it. Pointers are relative to the condition. */
export function compileCondition(condition: Condition): StoredCondition | FieldProblem[] {
  const steps = parseResultPath(condition.path);
  if (!steps) {
    const detail = "must be status, or result followed by .name and [index] steps";
    return [{ pointer: "/path", code: "path", detail }];
  }
  const [fits, detail] = VALUE_RULES[condition.op];
  if (!fits(condition.value)) return [{ pointer: "/value", code: "type", detail }];
  const unstorable = condition.value === undefined ? [] : checkPayload(condition.value, { maxBytes: MAX_VALUE_BYTES });
  if (unstorable.length > 0) return unstorable.map((found) => ({ ...found, pointer: `/value${found.pointer}` }));
  return { ...condition, steps };
}
