import { expect, test } from "vitest";
import { DOCUMENTED_ROUTES } from "@/app/api/v1/openapi.json/documented-routes";
import { type ApiDocument, operationsOf, typeText } from "@/lib/contract/reference";
import { openApiDocument } from "./openapi";

const operations = operationsOf(openApiDocument(DOCUMENTED_ROUTES, "1") as unknown as ApiDocument);
const named = (id: string) => operations.find((operation) => operation.id === id);

test("the reference lists every documented route once", () => {
  expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
    DOCUMENTED_ROUTES.map(({ method, path }) => `${method} ${path.replace(/\[(\w+)\]/g, "{$1}")}`).sort(),
  );
});

test("every field has a descriptive type", () => {
  for (const { id, parameters, fields } of operations) {
    for (const { name, type } of [...parameters, ...fields]) {
      expect(type, `${id} ${name}`).not.toMatch(/undefined|\[object|^$/);
    }
  }
});

test("a body is a table of its fields, with nested fields under their path", () => {
  const { fields = [] } = named("postJobs") ?? {};
  expect(fields.find(({ name }) => name === "definition_key")).toMatchObject({ required: true, type: "text" });
  expect(fields.find(({ name }) => name === "priority")).toMatchObject({
    required: false,
    type: "whole number, 1–1000",
  });
  expect(fields.find(({ name }) => name === "dedupe.mode")?.type).toBe("live | window | retained, default live");
  expect(fields.find(({ name }) => name === "tags")?.type).toBe("list of text, 1–64 characters, at most 20");
});

test("query parameters show numbers and lists as such", () => {
  const { parameters = [] } = named("getJobs") ?? {};
  expect(parameters.find(({ name }) => name === "limit")).toMatchObject({
    type: "whole number, 1–200",
    place: "query",
  });
  expect(parameters.find(({ name }) => name === "status")?.description).toMatch(/commas: queued, blocked/);
});

test("an example contains what is required, in the route's format", () => {
  expect(named("postJobs")?.curl).toBe(
    [
      'curl -sS -X POST "$URL/api/v1/jobs"',
      '-H "Authorization: Bearer $KEY"',
      '-H "Idempotency-Key: $(uuidgen)"',
      "-H 'Content-Type: application/json'",
      `-d '{"definition_key":"…"}'`,
    ].join(" \\\n  "),
  );
  const password = named("postMePassword");
  expect(password).toMatchObject({ sessionOnly: true, group: "Account" });
  expect(password?.curl).not.toMatch(/Authorization|Idempotency-Key/);
  expect(password?.answers.map(({ status }) => status)).toEqual(expect.arrayContaining(["200", "403", "422"]));
  expect(named("getLivez")?.curl).toBe('curl -sS "$URL/livez"');
});

test("a type is described in words", () => {
  expect(typeText({ type: "string", format: "date-time" })).toBe("time (RFC 3339)");
  expect(typeText({ anyOf: [{ type: "string" }, { type: "null" }] })).toBe("text or null");
  expect(typeText({ type: "integer", minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })).toBe(
    "whole number",
  );
  expect(typeText({})).toBe("any JSON");
});
