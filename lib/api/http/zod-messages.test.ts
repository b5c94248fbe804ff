import { expect, test } from "vitest";
import * as z from "zod";
import { wordsOf } from "./zod-messages";

const said = (schema: z.ZodType, value: unknown) =>
  schema.safeParse(value, { error: wordsOf }).error?.issues.map(({ message }) => message);

test.each([
  [z.number().max(200), 201, "must be at most 200"],
  [z.number().positive(), 0, "must be more than 0"],
  [z.number().int(), 1.5, "must be a whole number"],
  [z.number(), undefined, "is required"],
  [z.string().min(1), "", "must not be empty"],
  [z.string().max(5), "123456", "must have at most 5 characters"],
  [z.array(z.string()).min(1), [], "must have at least 1 item"],
  [z.array(z.string()), {}, "must be a list"],
  [z.enum(["a", "b"]), "c", "must be one of a, b"],
  [z.literal(true), false, "must be true"],
  [z.boolean(), 1, "must be true or false"],
  [z.uuid(), "x", "must be a UUID"],
  [z.iso.datetime(), "yesterday", "must be a time like 2026-01-31T09:30:00Z"],
  [
    z.discriminatedUnion("k", [z.object({ k: z.literal("p") }), z.object({ k: z.literal("q") })]),
    { k: "r" },
    "must be one of p, q",
  ],
])("%# an error message continues the field's name", (schema, value, words) => {
  expect(said(schema, value)).toEqual([words]);
});

test("a schema's own message takes precedence", () => {
  expect(said(z.string().min(3, "is too short for a name"), "ab")).toEqual(["is too short for a name"]);
});

test("no message contains a value that was sent", () => {
  const secret = "hunter2-hunter2";
  for (const schema of [z.number(), z.uuid(), z.enum(["a"]), z.email(), z.string().max(3), z.literal("x")])
    expect(said(schema, secret)?.join()).not.toContain(secret);
});
