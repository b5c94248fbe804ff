import { describe, expect, test } from "vitest";
import { gatherPayload, parseJsonText, pointerHead, schemaForm } from "./schema-form";

const SCHEMA = {
  type: "object",
  required: ["provider_id", "mode"],
  properties: {
    provider_id: { type: "string", format: "uuid" },
    mode: { enum: ["fast", 2, null] },
    depth: { type: "integer", minimum: 1, default: 3 },
    deep: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
    constructor: { type: "string" },
  },
};

describe("the form of a definition's schema", () => {
  test("each property has the control of its type", () => {
    const { fields, freeform } = schemaForm(SCHEMA);
    expect(freeform).toBe(false);
    expect(Object.fromEntries(fields.map((field) => [field.name, field.kind]))).toEqual({
      provider_id: "provider",
      mode: "choice",
      depth: "integer",
      deep: "boolean",
      tags: "json",
      constructor: "text",
    });
  });

  test.each([[{}], [{ oneOf: [{ type: "object" }], properties: { a: {} } }], [{ type: "object" }]])(
    "a schema without simple properties is edited as JSON: %j",
    (schema) => {
      expect(schemaForm(schema).freeform).toBe(true);
    },
  );

  test("values are sent in their types, and empty ones are omitted", () => {
    const { fields } = schemaForm(SCHEMA);
    const { payload, faults } = gatherPayload(fields, { provider_id: "x", mode: "2", tags: '["a"]', deep: "true" });
    expect(faults.size).toBe(0);
    expect(payload).toEqual({ provider_id: "x", mode: 2, depth: 3, deep: true, tags: ["a"] });
  });

  test("UI-10 a field named constructor is a field like any other", () => {
    const { fields } = schemaForm(SCHEMA);
    expect(gatherPayload(fields, { provider_id: "x", mode: "2" }).payload).not.toHaveProperty(
      "constructor",
      expect.any(String),
    );
    const named = gatherPayload(fields, { provider_id: "x", mode: "2", constructor: "y" });
    expect(Object.entries(named.payload)).toContainEqual(["constructor", "y"]);
  });

  test("an invalid value is reported at its field", () => {
    const { fields } = schemaForm(SCHEMA);
    const { faults } = gatherPayload(fields, { depth: "1.5", tags: "[", mode: "2" });
    expect([...faults.keys()].sort()).toEqual(["depth", "provider_id", "tags"]);
  });

  test("a field with a default of the wrong type is omitted unless it is filled in", () => {
    const { fields } = schemaForm({
      properties: {
        n: { type: "number", default: null },
        s: { type: "string", default: null },
        i: { type: "integer", default: "x" },
        b: { type: "boolean", default: null },
        c: { enum: ["a", "b"], default: null },
        at: { type: "string", format: "date-time", default: null },
        known: { enum: ["a", null], default: null },
        maybe: { type: ["number", "null"], default: null },
      },
    });
    const { payload, faults } = gatherPayload(fields, {});
    expect([...faults]).toEqual([]);
    expect(payload).toEqual({ known: null, maybe: null });
    expect(gatherPayload(fields, { n: "1.5", s: "null", b: "true" }).payload).toMatchObject({
      n: 1.5,
      s: "null",
      b: true,
    });
  });

  test("a boolean is true, false or omitted; a required one must be chosen", () => {
    const { fields } = schemaForm({
      required: ["must"],
      properties: { b: { type: "boolean" }, on: { type: "boolean", default: true }, must: { type: "boolean" } },
    });
    expect([...gatherPayload(fields, {}).faults.keys()]).toEqual(["must"]);
    expect(gatherPayload(fields, { must: "false" }).payload).toEqual({ must: false, on: true });
    expect(gatherPayload(fields, { must: "true", on: "", b: "false" }).payload).toEqual({ must: true, b: false });
  });

  test("the editor refuses JSON that would be sent differently from what was typed", () => {
    for (const text of [
      '{"a":1,"a":2}',
      '{"x":[{"b":1,"\\u0062":2}]}',
      "[0.12345678901234567890]",
      "12345678901234567890",
    ])
      expect(parseJsonText(text), text).toEqual({ fault: expect.stringMatching(/^At /) });
    expect(parseJsonText('{"a":1,"a":2}').fault).toBe("At /a: the key appears twice.");
    expect(parseJsonText(' {"a": [1.5, null]}\n')).toEqual({ value: { a: [1.5, null] } });
    expect(parseJsonText("{").fault).toMatch(/^Not valid JSON/);
  });

  test("pointers are unescaped", () => {
    expect(pointerHead("/a~1b/c")).toBe("a/b");
    expect(pointerHead("")).toBe("");
  });
});
