import { expect, test } from "vitest";
import { expectLinear } from "@/lib/testing/measure/growth";
import { checkPayload } from "../enqueue/payload-check.policy";
import { bounded, named, times } from "./arg-schema.fixture";
import { ARG_SCHEMA_MAX_BYTES, compileArgSchema } from "./arg-schema.policy";

const chain = (keyword: string, depth: number): object =>
  depth === 0
    ? { minLength: 1 }
    : { [keyword]: keyword === "anyOf" ? [chain(keyword, depth - 1)] : chain(keyword, depth - 1) };

/** Schemas of any size whose programs are the largest for that size, or take the longest to compile. */
const LARGE: Readonly<Record<string, (count: number) => object>> = {
  alternatives: (count) => ({ anyOf: times(count, () => ({ minLength: 1 })) }),
  "alternatives of alternatives": (count) => ({ anyOf: times(count, () => ({ anyOf: [{ type: "string" }] })) }),
  "exclusive alternatives": (count) => ({ oneOf: times(count, () => ({ minLength: 1 })) }),
  "schemas without a keyword": (count) => ({ anyOf: times(count, () => false) }),
  properties: (count) => ({ properties: named(count, () => ({ type: "string", minLength: 1, maxLength: 9 })) }),
  "properties that were looked at": (count) => ({
    unevaluatedProperties: false,
    anyOf: times(count, (index) => ({ properties: { [`p${index}`]: {} } })),
  }),
  references: (count) => ({
    allOf: times(count, (index) => ({ $ref: `#/$defs/${index.toString(36)}` })),
    $defs: named(count, () => ({ type: "string" })),
  }),
  "references that double": (count) => ({
    $ref: "#/$defs/l0",
    $defs: Object.fromEntries(
      times(count, (level) => [
        `l${level}`,
        level === count - 1 ? {} : { allOf: [{ $ref: `#/$defs/l${level + 1}` }, { $ref: `#/$defs/l${level + 1}` }] },
      ]),
    ),
  }),
  "dynamic references": (count) => ({
    $dynamicAnchor: "m",
    allOf: times(count, () => ({ $dynamicRef: "#m" })),
  }),
  identifiers: (count) => ({ $defs: named(count, (index) => ({ $id: `id${index}` })) }),
  "names that others need": (count) => ({ dependentRequired: named(count, () => ["a"]) }),
  "needed names": (count) => ({ allOf: times(count / 50, () => ({ required: times(50, (index) => `p${index}`) })) }),
  choices: (count) => ({ allOf: times(count / 50, () => ({ enum: times(50, (index) => ({ index })) })) }),
  "deep schemas": (count) => ({ allOf: times(count / 14, () => chain("anyOf", 14)) }),
  "deep negations": (count) => ({ allOf: times(count / 28, () => chain("not", 28)) }),
  patterns: (count) => ({ allOf: times(count, (index) => ({ pattern: `(?i)[\\p{L}${index}]` })) }),
  "long patterns": (count) => ({
    allOf: times(count / 100, (index) => ({ pattern: `(?i)${index}${"\\p{L}".repeat(100)}` })),
  }),
  "patterns of names": (count) => ({ patternProperties: named(count, () => ({ minLength: 1 })) }),
  "long names": (count) => ({
    properties: { ["x".repeat(count * 4)]: { allOf: times(count, () => ({ minLength: 1 })) } },
  }),
  values: (count) => ({ examples: times(count, (index) => ({ index })) }),
};
/** Returns the largest count that a schema may hold, in 64 KiB or 10,000 values. */
function most(make: (count: number) => object): number {
  const fits = (count: number) => checkPayload(make(count), { maxBytes: ARG_SCHEMA_MAX_BYTES }).length === 0;
  let [low, high] = [1, 10_000];
  while (high - low > 1) [low, high] = fits((low + high) >> 1) ? [(low + high) >> 1, high] : [low, (low + high) >> 1];
  return low;
}

/** Compiles a schema and runs its program once; a refusal as too large is fine. */
function compileOrRefuse(schema: object): void {
  try {
    compileArgSchema(schema)({ a: 1 });
  } catch (error) {
    expect(error).toMatchObject({ code: "schema-invalid" });
  }
}

test.each(Object.entries(LARGE))("compiling a schema never takes long: %s", (name, make) => {
  const largest = most(make);
  for (const part of [1, 2, 4, 8, 16, 32]) {
    const schema = make(Math.ceil(largest / part));
    bounded(`${name}, a ${part}th of the largest`, () => compileOrRefuse(schema));
  }
});

test.each(Object.entries(LARGE))("the time to compile grows no faster than the schema: %s", (name, make) => {
  const largest = most(make);
  expectLinear(name, (size) => JSON.stringify(make(Math.ceil((size / 65_536) * largest))), {
    read: (text) => compileOrRefuse(JSON.parse(text)),
  });
});

test("a schema that is too large to compile is refused with a pointer to the place where the budget ran out", () => {
  const refusal = expect.objectContaining({
    pointer: expect.stringMatching(/^\/anyOf(?:\/\d+(?:\/not)?)?$/),
    code: "too-complex",
  });
  expect(() => compileArgSchema({ anyOf: times(300, () => ({ not: { minLength: 1 } })) })).toThrow(
    expect.objectContaining({ code: "schema-invalid", problems: [refusal] }),
  );
  const props = named(300, () => ({ type: "string", maxLength: 200 }));
  expect(compileArgSchema({ type: "object", properties: props, additionalProperties: false })({})).toEqual([]);
});
