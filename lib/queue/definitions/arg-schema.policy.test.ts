import { describe, expect, test } from "vitest";
import { compileArgSchema } from "./arg-schema.policy";

const refusedAt = (schema: unknown): string[] => {
  try {
    compileArgSchema(schema);
  } catch (error) {
    return (error as { problems: { pointer: string }[] }).problems.map((problem) => problem.pointer);
  }
  return ["accepted"];
};

describe("an argument schema that does not mean what it says is refused", () => {
  test.each<[string, unknown, string]>([
    ["a misspelled keyword", { requierd: ["a"] }, "/requierd"],
    ["a misspelled keyword further down", { properties: { a: { maxLenght: 1 } } }, "/properties/a/maxLenght"],
    ["an unknown format", { type: "string", format: "emial" }, "/format"],
    ["a keyword of draft 4", { type: "number", exclusiveMaximum: true }, "/exclusiveMaximum"],
    ["an unknown type", { type: "int" }, "/type"],
    ["a look-ahead", { type: "string", pattern: "(?=a)" }, ""],
    ["a remote reference", { $ref: "https://example.com/schema" }, ""],
    ["a reference by a name that every object has", { items: { $ref: "constructor" } }, "/items/$ref"],
    ["a reference to what objects come from", { items: { $dynamicRef: "__proto__" } }, "/items/$dynamicRef"],
    [
      "a property that would be ignored",
      JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'),
      "/properties/__proto__",
    ],
    [
      "such a property further down",
      JSON.parse('{"items":{"properties":{"a":{"properties":{"__proto__":{}}}}}}'),
      "/items/properties/a/properties/__proto__",
    ],
    ["another dialect", { $schema: "http://json-schema.org/draft-07/schema#" }, "/$schema"],
    [
      "a part of the dialect",
      { $schema: "https://json-schema.org/draft/2020-12/meta/core", required: [5] },
      "/$schema",
    ],
    ["a dialect by a name that every object has", { $schema: "constructor" }, "/$schema"],
    ["a dialect that is no text", { $schema: 5 }, "/$schema"],
    ["a schema that answers later", { $async: true, type: "object" }, "/$async"],
    ["a part that answers later", { allOf: [{ $async: true, type: "object" }] }, "/allOf/0/$async"],
    [
      "a reference to what answers later",
      { $ref: "#/$defs/a", $defs: { a: { $async: true, type: "null" } } },
      "/$defs/a/$async",
    ],
    ["a list", [], ""],
    ["a schema over 64 KiB", { description: "x".repeat(65 * 1024) }, ""],
  ])("PAYLOAD-16 %s", (_, schema, pointer) => {
    expect(refusedAt(schema)).toContain(pointer);
  });
});

test("a schema may name its dialect", () => {
  const $schema = "https://json-schema.org/draft/2020-12/schema";
  for (const name of [$schema, `${$schema}#`])
    expect(compileArgSchema({ $schema: name, type: "string" })("a")).toEqual([]);
});

test.each([{ $ref: "#" }, { $dynamicRef: "#meta" }])(
  "a payload is refused when its schema recurses without end: %j",
  (schema) => {
    expect(compileArgSchema(schema)({})).toMatchObject([{ pointer: "", code: "schema" }]);
  },
);

describe("a payload", () => {
  const check = compileArgSchema({
    type: "object",
    properties: {
      a: { type: "string", pattern: "^(a+)+$" },
      b: { type: "string", pattern: "^b+$" },
      n: { type: "integer" },
    },
    required: ["a"],
    additionalProperties: false,
  });

  test("PV-2 each property is checked with its own pattern", () => {
    expect(check({ a: "aa", b: "bb" })).toEqual([]);
    expect(check({ a: "aa", b: "aa" })).toMatchObject([{ pointer: "/b", code: "pattern" }]);
  });

  test("PV-2 a pattern that is exponential in other engines takes linear time", () => {
    const before = performance.now();
    expect(check({ a: `${"a".repeat(100_000)}!` })).toHaveLength(1);
    expect(performance.now() - before).toBeLessThan(5000);
  });

  test("PAYLOAD-13 is not coerced: '10' stays a string", () => {
    expect(check({ a: "a", n: "10" })).toMatchObject([{ pointer: "/n", code: "type" }]);
  });

  test("PAYLOAD-13 is not changed by defaults or by alternatives that do not match", () => {
    const alternatives = compileArgSchema({
      oneOf: [
        {
          type: "object",
          properties: { x: { type: "number", default: 1 } },
          required: ["x"],
          additionalProperties: false,
        },
        { type: "object", properties: { y: { type: "number" } }, required: ["y"], additionalProperties: false },
      ],
    });
    const payload = { y: 2 };
    expect(alternatives(payload)).toEqual([]);
    expect(payload).toEqual({ y: 2 });
  });

  test("the errors name missing and unexpected properties", () => {
    expect(check({})).toMatchObject([{ pointer: "/a", code: "required" }]);
    expect(check({ a: "a", "z/1": 1 })).toMatchObject([{ pointer: "/z~11", code: "additionalProperties" }]);
  });

  test("a property of the prototype does not count", () => {
    expect(compileArgSchema({ required: ["toString"] })({})).toHaveLength(1);
  });
});
