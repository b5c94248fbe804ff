import Ajv2020, { type ErrorObject, type ValidateFunction } from "ajv/dist/2020";
import type { RegExpEngine, RegExpLike } from "ajv/dist/types";
import addFormats from "ajv-formats";
import { checkPayload, escapePointer } from "../enqueue/payload-check.policy";
import { QueueError } from "../errors";
import type { Problem } from "../types";
import { BoundedPatterns, meterKeywords, OverBudget, programBudget, StepBudget } from "./arg-schema-budget.policy";

export const ARG_SCHEMA_MAX_BYTES = 64 * 1024;

/** Checks a payload against one argument schema. Never changes the payload: no coercion, no defaults, nothing removed. */
export type PayloadValidator = (payload: unknown) => Problem[];

/**
 * Compiles an argument schema (JSON Schema 2020-12) strictly: a misspelled keyword or format, a wrong type or a remote
 * reference is an error with a pointer to it, never ignored. Patterns run on a linear-time engine, so that no pattern can
 * block the process; look-arounds, which that engine does not have, are refused. The work of a check is counted: a payload
 * that would take more than a fraction of a second is refused at the place where the count ran out.
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
      // A payload is never so deep: the schema refers to itself without end.
      if (error instanceof RangeError) return [ENDLESS];
      throw error;
    }
  };
}

const MOST_PROBLEMS = 50;
const TOO_COMPLEX = "takes too long to check against the argument schema: too many alternatives, or too much text";
const TOO_LARGE = "is too much to compile: the schema has too many keywords, names, values and parts";
const ENDLESS: Problem = {
  pointer: "",
  code: "schema",
  detail: "cannot be checked: the schema refers to itself without end",
};
const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** Ajv would look any other `$schema` up among what it happens to know, and fail or check against a part of the dialect. */
function refuseOtherDialects({ $schema = DIALECT }: { readonly $schema?: unknown }): void {
  if ($schema !== DIALECT && $schema !== `${DIALECT}#`)
    throw schemaInvalid([{ pointer: "/$schema", code: "schema", detail: `must be ${DIALECT}, or be left out` }]);
}

/** Letters of the pointers to all places together. Ajv keeps each of them, so long names with much below them fill the heap. */
const MOST_LETTERS_OF_PLACES = 2_000_000;
const LONG_PLACES = "is too much to compile: too much stands below long names";

/** Places whose keys are those of payloads. */
const IN_VALUES = /\/(?:const|default|enum|examples)\//;

/** Ajv keeps schemas by name in an object, and takes what every object has for one of them, which checks nothing. */
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
    // Copying what is referred to into each place would let a small schema compile to a huge program.
    inlineRefs: false,
    code: { regExp: linearRegExp(patterns) },
    // It is checked before, by `schemas`.
    validateSchema: false,
  });
  // Such a schema would answer with a promise, which looks like a yes.
  ajv.removeKeyword("$async");
  addFormats(ajv);
  meterKeywords(ajv, { budget, patterns, program: programBudget() });
  return ajv;
}

/** Shared, since compiling what checks schemas takes ten times as long as most of them do. It keeps none of them. */
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

/** A place in the schema, which Ajv writes as a fragment of a URI while it compiles. */
const placeOf = (pointer: string): string => (pointer.startsWith("#") ? decodeURIComponent(pointer.slice(1)) : pointer);

/** Ajv merges regular expressions whose toString() is equal, so each must answer with its own source. */
function linearRegExp(patterns: BoundedPatterns): RegExpEngine {
  const engine = (pattern: string): RegExpLike & { toString(): string } => {
    const compiled = patterns.compile(pattern);
    return { test: (text: string) => compiled.matcher(text).find(), toString: () => `re2:${pattern}` };
  };
  return Object.assign(engine, { code: "linearRegExp" });
}

/** A choice among required properties is one problem that names them, and not one for each. */
function toProblems(errors: readonly ErrorObject[]): Problem[] {
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

function toProblem(error: ErrorObject): Problem {
  const named = error.params as { missingProperty?: string; additionalProperty?: string; unevaluatedProperty?: string };
  const property = named.missingProperty ?? named.additionalProperty ?? named.unevaluatedProperty;
  const pointer = property === undefined ? error.instancePath : `${error.instancePath}/${escapePointer(property)}`;
  return { pointer, code: error.keyword, detail: error.message ?? "is not valid" };
}

const schemaInvalid = (problems: readonly Problem[]): QueueError =>
  new QueueError("schema-invalid", "The argument schema is not valid.", { problems });

/** Ajv names an unknown keyword or format in its message only; the pointer shows where in the schema it stands. */
function keywordPointer(schema: object, message: string): string {
  const name = /unknown (?:keyword|format):? "([^"]+)"/.exec(message)?.[1];
  if (name === undefined) return "";
  for (const { key, value, pointer } of placesIn(schema)) {
    if (key === name || (key === "format" && value === name)) return pointer;
  }
  return "";
}

/** Everything inside, with its key and where it stands. */
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
