import Ajv2020, { type ErrorObject, type ValidateFunction } from "ajv/dist/2020";
import type { RegExpEngine, RegExpLike } from "ajv/dist/types";
import addFormats from "ajv-formats";
import { checkPayload, escapePointer } from "../enqueue/payload-check.policy";
import { QueueError } from "../errors";
import type { FieldProblem } from "../types";
import { BoundedPatterns, meterKeywords, OverBudget, programBudget, StepBudget } from "./arg-schema-budget.policy";

export const ARG_SCHEMA_MAX_BYTES = 64 * 1024;

/**
 * Checks a payload against one argument schema. Never changes the payload: no coercion, no defaults, no removed values.
 */
export type PayloadValidator = (payload: unknown) => FieldProblem[];

/**
 * Compiles an argument schema (JSON Schema 2020-12) strictly: a misspelled keyword or format, a wrong type or a remote
 * reference is an error with a pointer, never ignored. Patterns run on a linear-time engine, so no pattern can block
 * the process; look-arounds, which that engine does not support, are refused. The steps of a check are counted: a
 * payload that would take more than a fraction of a second is refused with a pointer to where the steps ran out.
 * @throws QueueError schema-invalid
 */
export function compileArgSchema(schema: unknown): PayloadValidator {
  refuseUnstorable(schema);
  refuseOtherDialects(schema as object);
  refuseNamesOfObjects(schema as object);
  const budget = new StepBudget();
  const validate = compile(schema as object, budget);
  return (payload) => {
    budget.reset();
    try {
      return validate(payload) ? [] : toProblems(validate.errors ?? []);
    } catch (error) {
      if (error instanceof OverBudget) return [{ pointer: error.pointer, code: "too-complex", detail: TOO_COMPLEX }];
      // No payload is nested that deep, so the schema must refer to itself without end.
      if (error instanceof RangeError) return [ENDLESS];
      throw error;
    }
  };
}

const MOST_PROBLEMS = 50;
const TOO_COMPLEX = "takes too long to check against the argument schema: too many alternatives, or too much text";
const TOO_LARGE = "is too large to compile: the schema has too many keywords, names, values and parts";
const ENDLESS: FieldProblem = {
  pointer: "",
  code: "schema",
  detail: "cannot be checked: the schema refers to itself without an end",
};
const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/**
 * Refuses other dialects. Ajv would look up any other `$schema` among its own, and fail or check only a part of the
 * dialect.
 */
function refuseOtherDialects({ $schema = DIALECT }: { readonly $schema?: unknown }): void {
  if ($schema !== DIALECT && $schema !== `${DIALECT}#`)
    throw schemaInvalid([{ pointer: "/$schema", code: "schema", detail: `must be ${DIALECT}, or be left out` }]);
}

/**
 * Maximum letters of the pointers to all places together. Ajv keeps each pointer, so long names above many places fill
 * the heap.
 */
const MOST_LETTERS_OF_PLACES = 2_000_000;
const LONG_PLACES = "is too large to compile: too many values are below long names";

/** Places whose keys are keys of payloads. */
const IN_VALUES = /\/(?:const|default|enum|examples)\//;

/**
 * Refuses names that every object has: Ajv keeps schemas by name in an object and would take such a property for a
 * schema, which checks nothing. Also refuses a schema whose pointers are too long together.
 */
function refuseNamesOfObjects(schema: object): void {
  let letters = 0;
  for (const { key, value, pointer } of placesIn(schema)) {
    letters += pointer.length;
    if (letters > MOST_LETTERS_OF_PLACES)
      throw schemaInvalid([{ pointer: "", code: "too-complex", detail: LONG_PLACES }]);
    if (key === "__proto__" && !IN_VALUES.test(pointer))
      throw schemaInvalid([
        { pointer, code: "schema", detail: "cannot be the name of a property: it would be ignored" },
      ]);
    if ((key === "$ref" || key === "$dynamicRef") && typeof value === "string" && value in Object.prototype)
      throw schemaInvalid([{ pointer, code: "schema", detail: "refers to nothing in this schema" }]);
  }
}

function refuseUnstorable(schema: unknown): void {
  const problems = checkPayload(schema, { maxBytes: ARG_SCHEMA_MAX_BYTES });
  if (problems.length > 0) throw schemaInvalid(problems);
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    throw schemaInvalid([{ pointer: "", code: "type", detail: "must be an object" }]);
  }
}

function makeAjv(budget: StepBudget): Ajv2020 {
  const patterns = new BoundedPatterns();
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    $data: false,
    allErrors: false,
    ownProperties: true,
    logger: false,
    // Inlining references would let a small schema compile to a huge program.
    inlineRefs: false,
    code: { regExp: linearRegExp(patterns) },
    // `schemas` has validated the schema already.
    validateSchema: false,
  });
  // A validator for such a schema would return a promise, which would count as valid.
  ajv.removeKeyword("$async");
  addFormats(ajv);
  meterKeywords(ajv, { budget, patterns, program: programBudget() });
  return ajv;
}

/** Shared, because compiling the validator of schemas takes ten times as long as most schemas. It keeps no schema. */
const schemaBudget = new StepBudget();
const schemas = makeAjv(schemaBudget);

function compile(schema: object, budget: StepBudget): ValidateFunction {
  try {
    schemaBudget.reset();
    if (!schemas.validateSchema(schema)) throw schemaInvalid((schemas.errors ?? []).slice(0, 10).map(toProblem));
    return makeAjv(budget).compile(schema);
  } catch (error) {
    if (error instanceof QueueError) throw error;
    if (error instanceof OverBudget)
      throw schemaInvalid([{ pointer: placeOf(error.pointer), code: "too-complex", detail: TOO_LARGE }]);
    const detail = error instanceof Error ? error.message : "cannot be compiled";
    throw schemaInvalid([{ pointer: keywordPointer(schema, detail), code: "schema", detail }]);
  }
}

/** Returns a pointer from a place in the schema, which Ajv writes as a fragment of a URI during compilation. */
const placeOf = (pointer: string): string => (pointer.startsWith("#") ? decodeURIComponent(pointer.slice(1)) : pointer);

/** Ajv merges regular expressions with equal toString(), so each returns its own source. */
function linearRegExp(patterns: BoundedPatterns): RegExpEngine {
  const engine = (pattern: string): RegExpLike & { toString(): string } => {
    const compiled = patterns.compile(pattern);
    return { test: (text: string) => compiled.matcher(text).find(), toString: () => `re2:${pattern}` };
  };
  return Object.assign(engine, { code: "linearRegExp" });
}

/** Turns errors into problems. A choice among required properties becomes one problem that names all of them. */
function toProblems(errors: readonly ErrorObject[]): FieldProblem[] {
  const last = errors.at(-1);
  const isChoice =
    last?.keyword === "anyOf" &&
    errors.length > 1 &&
    errors
      .slice(0, -1)
      .every(
        ({ keyword, instancePath, schemaPath }) =>
          keyword === "required" && instancePath === last.instancePath && schemaPath.startsWith(`${last.schemaPath}/`),
      );
  if (!isChoice) return errors.slice(0, MOST_PROBLEMS).map(toProblem);
  const names = errors.slice(0, -1).map(({ params }) => (params as { missingProperty: string }).missingProperty);
  return [{ pointer: last.instancePath, code: "required", detail: `must have ${[...new Set(names)].join(" or ")}` }];
}

function toProblem(error: ErrorObject): FieldProblem {
  const named = error.params as { missingProperty?: string; additionalProperty?: string; unevaluatedProperty?: string };
  const property = named.missingProperty ?? named.additionalProperty ?? named.unevaluatedProperty;
  const pointer = property === undefined ? error.instancePath : `${error.instancePath}/${escapePointer(property)}`;
  return { pointer, code: error.keyword, detail: error.message ?? "is not valid" };
}

const schemaInvalid = (problems: readonly FieldProblem[]): QueueError =>
  new QueueError("schema-invalid", "The argument schema is not valid.", { problems });

/** Finds an unknown keyword or format in the schema, because Ajv names it only in its message. */
function keywordPointer(schema: object, message: string): string {
  const name = /unknown (?:keyword|format):? "([^"]+)"/.exec(message)?.[1];
  if (name === undefined) return "";
  for (const { key, value, pointer } of placesIn(schema)) {
    if (key === name || (key === "format" && value === name)) return pointer;
  }
  return "";
}

/** Yields every value inside a schema, with its key and its pointer. */
function* placesIn(schema: object): Generator<{ key: string; value: unknown; pointer: string }> {
  const todo: { value: unknown; pointer: string }[] = [{ value: schema, pointer: "" }];
  for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
    if (typeof at.value !== "object" || at.value === null) continue;
    for (const [key, value] of Object.entries(at.value)) {
      const pointer = `${at.pointer}/${escapePointer(key)}`;
      yield { key, value, pointer };
      todo.push({ value, pointer });
    }
  }
}
