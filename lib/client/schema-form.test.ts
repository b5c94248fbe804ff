import { describe, expect, test } from "vitest";
import { gatherPayload, pointerHead, schemaForm } from "./schema-form";

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
  test("each property gets the control of its type", () => {
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
    "a schema without plain properties is written as JSON: %j",
    (schema) => {
      expect(schemaForm(schema).freeform).toBe(true);
    },
  );

  test("values are sent in their types, and empty ones are left out", () => {
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

  test("what cannot be sent is named at its field", () => {
    const { fields } = schemaForm(SCHEMA);
    const { faults } = gatherPayload(fields, { depth: "1.5", tags: "[", mode: "2" });
    expect([...faults.keys()].sort()).toEqual(["depth", "provider_id", "tags"]);
  });

  test("pointers are unescaped", () => {
    expect(pointerHead("/a~1b/c")).toBe("a/b");
    expect(pointerHead("")).toBe("");
  });
});
