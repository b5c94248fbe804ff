import {
  type ASTNode,
  TypeError as CelTypeError,
  Environment,
  EvaluationError,
  ParseError,
  serialize,
} from "@marcbachmann/cel-js";
import { faultOfNumber } from "@/lib/text/exact-numbers";
import { cutText } from "../clean.policy";
import type { FieldProblem } from "../types";
import { isIn } from "./is-in.policy";
import type { EventMeta } from "./trigger-template.policy";

/** The input of a condition: the event's data and metadata. */
export interface ConditionSubject {
  readonly event: unknown;
  readonly meta: EventMeta;
}

/** A validated condition. It holds if all its parts hold; the parts are the operands of `&&`. */
export interface TriggerCondition {
  readonly parts: readonly {
    readonly text: string;
    readonly evaluate: (subject: ConditionSubject) => unknown;
  }[];
  /**
   * How often an evaluation may read a whole event: to compare lists or objects, to search a list, to measure a size.
   */
  readonly looks: number;
  /**
   * The number of `&&` and `||` within its parts. Each operand may fail, for example on a path that does not exist.
   */
  readonly joins: number;
}

/** The result of one part. `detail` says why the part could not be evaluated. */
export interface ConditionPart {
  readonly text: string;
  readonly holds: boolean;
  readonly detail: string | null;
}

export interface ConditionVerdict {
  readonly holds: boolean;
  readonly parts: readonly ConditionPart[];
}

export const CONDITION_MAX_CHARACTERS = 2000;
/**
 * The most comparisons between two values of the event. Each may take some milliseconds for the largest event, longer
 * than any other operation of a condition.
 */
const COMPARISONS_MAX = 8;
/** The most operations that may read a whole event: comparisons, and searches and sizes, which take no longer. */
const LOOKS_MAX = 16;
const LIMITS = { maxAstNodes: 200, maxDepth: 32, maxListElements: 100, maxMapEntries: 1, maxCallArguments: 2 };

const environment = new Environment({ homogeneousAggregateLiterals: false, limits: LIMITS })
  .registerVariable("event", "map")
  .registerVariable("meta", "map");

/** Evaluates conditions. `isIn` is not part of the language; it replaces `in` between two values of the event. */
const evaluator = environment.clone().registerFunction("isIn(dyn, dyn): bool", isIn);

/**
 * Validates a condition. Returns the compiled condition, or its problems.
 * The language is a part of CEL whose cost is bounded by the sizes of condition and event: paths (`event.a.b[0]`,
 * `event["a b"]`, `meta.name`), texts, numbers, true, false, null, lists of them, `== != < <= > >= in && || !`,
 * `has(event.a)`, `size(…)`, `.startsWith(…)`, `.endsWith(…)`. No arithmetic, no loops, no patterns.
 */
export function compileTriggerCondition(
  text: string,
): { readonly condition: TriggerCondition } | { readonly problems: readonly FieldProblem[] } {
  if (text.trim() === "" || text.length > CONDITION_MAX_CHARACTERS)
    return refused("length", `must have 1 to ${CONDITION_MAX_CHARACTERS} characters`);
  try {
    const parsed = environment.parse(text);
    const foreign = findForeign(parsed.ast);
    if (foreign) return refused("condition", foreign);
    const parts = conjuncts(parsed.ast).map(serialize);
    const fault = parts.map(findNonBoolean).find((found) => found !== null);
    if (fault) return refused("condition", fault);
    const { comparisons, looks, joins } = countOperations(parsed.ast);
    if (comparisons > COMPARISONS_MAX)
      return refused("condition", `compares values of the event with each other more than ${COMPARISONS_MAX} times`);
    if (looks > LOOKS_MAX)
      return refused("condition", `searches, measures or compares values of the event more than ${LOOKS_MAX} times`);
    replaceMembership(parsed.ast);
    const evaluated = conjuncts(parsed.ast).map(serialize);
    const compiled = parts.map((part, index) => compilePart(part, evaluated[index] ?? part));
    return { condition: { parts: compiled, looks, joins: joins - (parts.length - 1) } };
  } catch (error) {
    return refused("condition", `is not a condition: ${summaryOf(error)}`);
  }
}

const refused = (code: string, detail: string) => ({ problems: [{ pointer: "", code, detail }] });

/** Counts the operations of a condition whose cost grows with the event, and its `&&` and `||`. */
function countOperations(root: ASTNode): {
  readonly comparisons: number;
  readonly looks: number;
  readonly joins: number;
} {
  let [comparisons, looks, joins] = [0, 0, 0];
  const todo: ASTNode[] = [root];
  for (let node = todo.pop(); node; node = todo.pop()) {
    const operands = operandsOf(node);
    if (typeof operands === "string") continue;
    todo.push(...operands);
    if (node.op === "&&" || node.op === "||") joins += 1;
    const ofEvent = operands.filter(isOfEvent).length;
    if (COMPARING.has(node.op) && ofEvent > 1) comparisons += 1;
    else if (node.op === "in" ? isOfEvent(node.args[1]) : MEASURING.has(node.op) && ofEvent > 0) looks += 1;
  }
  return { comparisons, looks: comparisons + looks, joins };
}

const COMPARING: ReadonlySet<string> = new Set(["==", "!=", "<", "<=", ">", ">=", "in"]);
/** Function calls. Of the functions of conditions, only the cost of `size` grows with the value. */
const MEASURING: ReadonlySet<string> = new Set(["call", "rcall"]);
const isOfEvent = (node: ASTNode): boolean => node.op === "." || node.op === "[]" || node.op === "id";

/** Evaluates all parts of a condition for an event and returns which of them hold. Never throws. */
export function explainTriggerCondition(condition: TriggerCondition, subject: ConditionSubject): ConditionVerdict {
  const parts = condition.parts.map(({ text, evaluate }) => ({ text, ...decide(() => evaluate(subject)) }));
  return { holds: parts.every(({ holds }) => holds), parts };
}

/**
 * Returns the first part that does not hold for an event, or null. Does not evaluate the parts after it. Never throws.
 */
export function failingPart(condition: TriggerCondition, subject: ConditionSubject): ConditionPart | null {
  for (const { text, evaluate } of condition.parts) {
    const decided = decide(() => evaluate(subject));
    if (!decided.holds) return { text, ...decided };
  }
  return null;
}

function decide(evaluate: () => unknown): { readonly holds: boolean; readonly detail: string | null } {
  try {
    const value = evaluate();
    return { holds: value === true, detail: typeof value === "boolean" ? null : "is neither true nor false" };
  } catch (error) {
    return { holds: false, detail: summaryOf(error) };
  }
}

/** Replaces `in` between values of the event by `isIn`, because the time of CEL's `in` grows with value × list. */
function replaceMembership(root: ASTNode): void {
  const todo: ASTNode[] = [root];
  for (let node = todo.pop(); node; node = todo.pop()) {
    const operands = operandsOf(node);
    if (typeof operands !== "string") todo.push(...operands);
    if (node.op === "in" && node.args.every(isOfEvent)) Object.assign(node, { op: "call", args: ["isIn", node.args] });
  }
}

/** @param evaluated the same part, with `isIn` in place of `in` */
function compilePart(text: string, evaluated: string): TriggerCondition["parts"][number] {
  const evaluate = evaluator.parse(evaluated);
  return { text, evaluate: ({ event, meta }) => evaluate({ event, meta }) };
}

/** Returns the problem of a part that is certainly not a boolean. Parts whose type depends on the event pass. */
function findNonBoolean(text: string): string | null {
  const checked = environment.check(text);
  if (!checked.valid) return `is not a condition: ${summaryOf(checked.error)}`;
  return checked.type === "bool" || checked.type === "dyn" ? null : `is neither true nor false: ${text}`;
}

/** The operands of `&&`, from left to right. */
function conjuncts(root: ASTNode): ASTNode[] {
  const found: ASTNode[] = [];
  const todo = [root];
  for (let node = todo.pop(); node; node = todo.pop()) {
    if (node.op === "&&") todo.push(node.args[1], node.args[0]);
    else found.push(node);
  }
  return found;
}

/**
 * Returns the problem of a CEL construct that conditions do not allow: anything whose cost is not bounded by the sizes
 * of condition and event.
 */
function findForeign(root: ASTNode): string | null {
  const todo = [root];
  for (let node = todo.pop(); node; node = todo.pop()) {
    const operands = operandsOf(node);
    if (typeof operands === "string") return operands;
    todo.push(...operands);
  }
  return null;
}

const METHODS: ReadonlySet<string> = new Set(["startsWith", "endsWith", "size"]);
const FUNCTIONS: ReadonlySet<string> = new Set(["has", "size"]);
const ROOTS: ReadonlySet<string> = new Set(["event", "meta"]);

/** Returns the operands of a node to visit, or the problem of the node. */
function operandsOf(node: ASTNode): readonly ASTNode[] | string {
  switch (node.op) {
    case "&&":
    case "||":
    case "==":
    case "!=":
    case "<":
    case "<=":
    case ">":
    case ">=":
    case "in":
      return node.args;
    case "!_":
      return [node.args];
    case "-_":
      return isNumber(node.args) ? [node.args] : "has - before a value that is not a number";
    case "list":
      return node.args.every(isLiteral)
        ? node.args
        : "has a list with values other than texts, numbers, true, false and null";
    case "[]":
      return node.args[1].op === "value" ? node.args : "has something else than a text or a number in [ ]";
    case ".":
      return [node.args[0]];
    case "id":
      return ROOTS.has(node.args) ? [] : `reads something other than event or meta: ${node.args}`;
    case "value":
      if (isRounded(node)) return "has a number that cannot be kept exactly; write fewer digits";
      return isLiteral(node) ? [] : "has a kind of value that JSON does not have";
    case "call":
      return FUNCTIONS.has(node.args[0]) ? node.args[1] : `uses a function that is not has or size: ${node.args[0]}`;
    case "rcall":
      return METHODS.has(node.args[0])
        ? [node.args[1], ...node.args[2]]
        : `uses a method that is not startsWith, endsWith or size: ${node.args[0]}`;
    default:
      return `uses ${node.op}, which conditions do not support`;
  }
}

function isLiteral(node: ASTNode): boolean {
  if (node.op === "-_") return isNumber(node.args);
  return (
    node.op === "value" && (node.args === null || ["string", "number", "bigint", "boolean"].includes(typeof node.args))
  );
}

const isNumber = (node: ASTNode): boolean =>
  node.op === "value" && (typeof node.args === "number" || typeof node.args === "bigint");

/** True if the decimal changes when stored as a double, and events can contain the result. Whole numbers stay exact. */
function isRounded({ args, input, start, end }: ASTNode): boolean {
  if (typeof args !== "number") return false;
  const fault = faultOfNumber(input.slice(start, end));
  return fault === "too-many-digits" || fault === "too-small";
}

const SUMMARY_MAX = 200;

/** The library's message without its code frame. It may quote the condition, never the event. */
function summaryOf(error: unknown): string {
  const isKnown = error instanceof EvaluationError || error instanceof ParseError || error instanceof CelTypeError;
  return cutText(isKnown ? error.summary : "it cannot be evaluated", SUMMARY_MAX);
}
