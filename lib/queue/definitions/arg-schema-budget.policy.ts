import type Ajv2020 from "ajv/dist/2020";
import { _, type Code, strConcat } from "ajv/dist/compile/codegen";
import importedNames from "ajv/dist/compile/names";
import type { CodeKeywordDefinition, KeywordCxt } from "ajv/dist/core";
import { RE2JS } from "re2js";
import { canonicalJson } from "../canonical-json.policy";

/** Node and bundlers return the module's exports here, test runners its default export. */
const names = "default" in importedNames ? (importedNames.default as typeof importedNames) : importedNames;

/**
 * Maximum steps for the check of one payload. A step takes at most 100 ns, so no check holds the event loop for more
 * than a tenth of a second. The largest payload against an everyday schema takes a quarter of the steps.
 */
const MOST_STEPS = 1_000_000;
/** Maximum instructions of all patterns of one schema. Compiling that many takes about a tenth of a second. */
const MOST_INSTRUCTIONS = 10_000;
const MOST_PATTERN_LENGTH = 4096;
/**
 * Maximum parts of the program that a schema is compiled to. A part takes at most 100 µs of compiling and of the first
 * check, so a schema is compiled within a tenth of a second.
 */
const MOST_PARTS = 1000;
/** How many listed names and values, and how many letters of a path, cost as much as a keyword. */
const VALUES_OF_PART = 4;
const LETTERS_OF_PART = 200;
/** How many letters of a pattern cost as much as a keyword. Some Unicode classes are long lists. */
const PATTERN_LETTERS_OF_PART = 8;
/** A reference costs more than other keywords, because it calls another program. */
const PARTS_OF: ReadonlyMap<string, number> = new Map([
  ["$ref", 3],
  ["$dynamicRef", 3],
]);
/** Errors kept per keyword for its failing branches. More are never shown, and without a cap they fill the heap. */
const MOST_BRANCH_ERRORS = 8;

/** Steps per branch. A branch that fails makes an error, which costs more than the values that the branch reads. */
const STEPS_OF_BRANCH = 4;
/** Steps of keywords that do more work than their schema shows. */
const STEPS_OF: ReadonlyMap<string, number> = new Map([
  ["$ref", 3],
  ["$dynamicRef", 5],
]);
/** Steps per letter of a name on the path to a value, beyond the length of everyday names. */
const STEPS_OF_NAME = 1 / 2;
const EVERYDAY_NAME = 64;

/** Thrown when a payload takes more steps than a check may have. */
export class OverBudget extends Error {
  constructor(readonly pointer: string) {
    super("takes too long to check");
  }
}

/** Counts down the steps of one check, or the parts of one compilation. */
export class StepBudget {
  left: number;

  constructor(private readonly most = MOST_STEPS) {
    this.left = most;
  }

  reset(): void {
    this.left = this.most;
  }

  /** @throws OverBudget */
  spend(steps: number, pointer: string): void {
    this.left -= steps;
    if (this.left < 0) throw new OverBudget(pointer);
  }
}

/** Returns the budget for the program of one schema. */
export const programBudget = (): StepBudget => new StepBudget(MOST_PARTS);

/**
 * Compiles patterns on a linear-time engine. Their size is limited, because matching costs their size times the text.
 */
export class BoundedPatterns {
  readonly #known = new Map<string, RE2JS>();
  #instructions = 0;

  /** @throws Error for a pattern that the engine does not support, or that is too large */
  compile(pattern: string): RE2JS {
    const known = this.#known.get(pattern);
    if (known) return known;
    if (pattern.length > MOST_PATTERN_LENGTH)
      throw new Error(`a pattern may have at most ${MOST_PATTERN_LENGTH} characters`);
    const compiled = RE2JS.compile(pattern);
    this.#instructions += compiled.programSize();
    if (this.#instructions > MOST_INSTRUCTIONS)
      throw new Error(`the patterns are too large: together more than ${MOST_INSTRUCTIONS} instructions`);
    this.#known.set(pattern, compiled);
    return compiled;
  }

  /** Returns the steps per letter of a text that is matched with these patterns. */
  stepsPerLetter(patterns: readonly string[]): number {
    return patterns.reduce((steps, pattern) => steps + this.compile(pattern).programSize(), 0) / 3;
  }
}

interface Meter {
  /** Steps left for a check. */
  readonly budget: StepBudget;
  /** Parts left for the compilation. */
  readonly program: StepBudget;
  readonly patterns: BoundedPatterns;
}

/**
 * Makes every keyword of `ajv` count its steps before it runs, caps the errors of failing branches, and checks
 * uniqueItems in linear time.
 */
export function meterKeywords(ajv: Ajv2020, meter: Meter): void {
  for (const [keyword, rule] of Object.entries(ajv.RULES.all)) {
    if (typeof rule !== "object" || !("code" in rule.definition)) continue;
    const code = keyword === "uniqueItems" ? checkUniqueItems : rule.definition.code;
    rule.definition = { ...rule.definition, code: meteredCode(code, meter) };
  }
}

type KeywordCode = CodeKeywordDefinition["code"];

function meteredCode(code: KeywordCode, meter: Meter): KeywordCode {
  return (cxt, ruleType) => {
    meter.program.spend(partsOf(cxt), cxt.it.errSchemaPath);
    const budget = cxt.gen.scopeValue("obj", { ref: meter.budget });
    cxt.gen.code(_`${budget}.left -= ${stepsOf(cxt)}`);
    for (const name of payloadNames(cxt))
      cxt.gen.code(_`${budget}.left -= Math.max(0, (${name}.length || 0) - ${EVERYDAY_NAME}) * ${STEPS_OF_NAME}`);
    const ofData = stepsOfData(cxt, meter);
    if (ofData) {
      const count = cxt.gen.scopeValue("func", { ref: ofData });
      cxt.gen.code(_`${budget}.left -= ${count}(${cxt.data})`);
    }
    cxt.gen.if(_`${budget}.left < 0`, () => cxt.gen.code(_`${budget}.spend(0, ${pointerOf(cxt)})`));
    countSubschemas(cxt, meter.program);
    capBranchErrors(cxt);
    code(cxt, ruleType);
  };
}

const pointerOf = ({ it }: KeywordCxt): Code => _`${strConcat(names.instancePath, it.errorPath)}`;

/**
 * Returns the parts that a keyword adds to a program: its own, and some for listed names and values, patterns and its
 * path.
 */
function partsOf({ keyword, schema, it }: KeywordCxt): number {
  const own = PARTS_OF.get(keyword) ?? 1;
  const patterns = keyword === "pattern" ? [schema] : keyword === "patternProperties" ? Object.keys(schema) : [];
  const letters = patterns.reduce((sum, pattern) => sum + pattern.length, 0);
  return (
    own +
    (sizeOf(schema) * (keyword === "dependentRequired" ? VALUES_OF_PART : 1)) / VALUES_OF_PART +
    letters / PATTERN_LETTERS_OF_PART +
    it.errSchemaPath.length / LETTERS_OF_PART
  );
}

const sizeOf = (schema: unknown): number =>
  typeof schema === "object" && schema !== null ? Object.keys(schema).length : 0;

/** Counts one part per subschema, because a schema without a keyword is a part of the program too. */
function countSubschemas(cxt: KeywordCxt, program: StepBudget): void {
  const subschema = cxt.subschema.bind(cxt);
  cxt.subschema = (application, valid) => {
    program.spend(1, `${cxt.it.errSchemaPath}/${cxt.keyword}`);
    return subschema(application, valid);
  };
}

/**
 * Returns the variables with names of the payload on the path to a value, because an error there copies all of them.
 * Indexes are numbers.
 */
const payloadNames = ({ it }: KeywordCxt): Code[] =>
  it.dataPathArr.filter((part): part is Code => typeof part !== "number" && Object.keys(part.names).length > 0);

/** Caps the errors after each branch, so that neither many branches nor deep ones add up. */
function capBranchErrors(cxt: KeywordCxt): void {
  const { errsCount } = cxt;
  if (errsCount === undefined) return;
  const subschema = cxt.subschema.bind(cxt);
  cxt.subschema = (application, valid) => {
    const branch = subschema(application, valid);
    const most = _`${errsCount} + ${MOST_BRANCH_ERRORS}`;
    cxt.gen.if(_`${names.errors} > ${most}`, () => {
      cxt.gen.assign(names.errors, most);
      cxt.gen.assign(_`${names.vErrors}.length`, names.errors);
    });
    return branch;
  };
}

/**
 * Returns the steps of a keyword for any payload: the values of a list or choice, the branches, the named properties.
 */
function stepsOf({ keyword, schema }: KeywordCxt): number {
  if (keyword === "enum" || keyword === "const" || keyword === "dependentRequired") return 1 + nodesOf(schema) / 4;
  if (typeof schema !== "object" || schema === null) return STEPS_OF.get(keyword) ?? 1;
  const each = keyword === "anyOf" || keyword === "oneOf" ? STEPS_OF_BRANCH : 1;
  return 1 + each * Object.keys(schema).length;
}

function nodesOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, item) => sum + nodesOf(item), 1);
}

/** Counts the letters in the texts and keys of a value. */
function lettersOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + lettersOf(item), 0);
  return Object.entries(value).reduce<number>((sum, [key, item]) => sum + key.length + lettersOf(item), 0);
}

const OF_KEYS: ReadonlySet<string> = new Set([
  "additionalProperties",
  "maxProperties",
  "minProperties",
  "patternProperties",
  "propertyNames",
  "unevaluatedProperties",
]);
const OF_ITEMS: ReadonlySet<string> = new Set(["contains", "items", "unevaluatedItems"]);
const OF_LETTERS: ReadonlySet<string> = new Set(["maxLength", "minLength"]);

type CountSteps = (data: unknown) => number;

/** Returns a function that counts the further steps of a keyword, by the size of the value that it checks. */
function stepsOfData(cxt: KeywordCxt, { patterns }: Meter): CountSteps | undefined {
  const { keyword, schema, parentSchema } = cxt;
  if (keyword === "pattern") return ofText(patterns.stepsPerLetter([schema]));
  if (keyword === "format") return schema === "url" ? ofUrl : ofText(1 / 4);
  if (OF_LETTERS.has(keyword)) return ofText(1 / 16);
  if (keyword === "uniqueItems") return ofCanonicalText;
  if (OF_ITEMS.has(keyword)) return ofItems;
  if (!OF_KEYS.has(keyword)) return undefined;
  const byPattern = Object.keys(parentSchema.patternProperties ?? {});
  if (byPattern.length === 0) return keyword === "unevaluatedProperties" ? ofLookedAtKeys : ofKeys;
  const perLetter = patterns.stepsPerLetter(byPattern);
  return (data) => {
    if (typeof data !== "object" || data === null) return 0;
    return Object.keys(data).reduce((steps, key) => steps + byPattern.length + key.length * perLetter, 0);
  };
}

const ofCanonicalText: CountSteps = (data) => nodesOf(data) * 6 + lettersOf(data) / 6;
const ofItems: CountSteps = (data) => (Array.isArray(data) ? data.length : 0);
const ofKeys: CountSteps = (data) => (typeof data === "object" && data !== null ? 2 * Object.keys(data).length : 0);
const ofLookedAtKeys: CountSteps = (data) => 3 * ofKeys(data);

/**
 * Counting functions by their steps per letter. They are shared, because Ajv's time grows with the square of the number
 * of functions that a program refers to.
 */
const textCounts = new Map<number, CountSteps>();

function ofText(perLetter: number): CountSteps {
  const known = textCounts.get(perLetter);
  if (known) return known;
  const count: CountSteps = (data) => (typeof data === "string" ? data.length * perLetter : 0);
  if (textCounts.size < MOST_INSTRUCTIONS) textCounts.set(perLetter, count);
  return count;
}

/** The regular expression of this format backtracks: its work grows with the square of the text's length. */
const ofUrl: CountSteps = (data) => (typeof data === "string" ? data.length ** 2 / 4 : 0);

/** Replaces Ajv's own check, which compares each item with each. */
function checkUniqueItems(cxt: KeywordCxt): void {
  if (cxt.schema !== true) return;
  const search = cxt.gen.scopeValue("func", { ref: findEqual });
  const equal = cxt.gen.const("equal", _`${search}(${cxt.data})`);
  cxt.setParams({ i: _`${equal}[1]`, j: _`${equal}[0]` });
  cxt.fail(_`${equal} !== null`);
}

/** Returns the indexes of the first two equal items, compared by their canonical text; null if there are none. */
function findEqual(items: readonly unknown[]): readonly [number, number] | null {
  const seen = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    const text = canonicalJson(item);
    const before = seen.get(text);
    if (before !== undefined) return [before, index];
    seen.set(text, index);
  }
  return null;
}
