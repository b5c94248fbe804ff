import { expect, test, vi } from "vitest";
import * as z from "zod";
import { jobListQuery } from "@/lib/contract";
import { idempotencyKey, requestHash } from "../idempotency";
import { decodeCursor, encodeCursor } from "./cursor";
import { parseBody, parseQuery, readJson } from "./input";
import { HttpProblem } from "./problem";

function problemOf(work: () => unknown): HttpProblem {
  try {
    work();
  } catch (error) {
    if (error instanceof HttpProblem) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

const post = (body: BodyInit, headers: Record<string, string> = { "content-type": "application/json" }) =>
  new Request("http://x/", { method: "POST", body, headers });

test("SECRETS-06 an error names the pointer and the rule, never the value", () => {
  const schema = z.strictObject({ token: z.string().max(3), kind: z.enum(["a"]), n: z.int() });
  const problem = problemOf(() => parseBody(schema, { token: "s3cr3t-value", kind: "s3cr3t-kind", n: "s3cr3t-n" }));
  expect(problem.errors?.map((error) => error.pointer)).toEqual(["/token", "/kind", "/n"]);
  expect(JSON.stringify(problem.errors) + problem.message).not.toContain("s3cr3t");
});

test("pointers escape special characters, and unknown fields are listed one by one", () => {
  const problem = problemOf(() => parseBody(z.strictObject({}), { "a/b~c": 1, x: 2, ["k".repeat(500)]: 3 }));
  expect(problem.errors?.map((error) => error.pointer)).toEqual(["/a~1b~0c", "/x", `/${"k".repeat(100)}`]);
});

test("API-06 a plus sign in a query is a blank and must be escaped", () => {
  const parse = (search: string) => parseQuery(jobListQuery, search);
  expect(parse("?created_after=2026-03-29T02:30:00%2B01:00").created_after).toBe("2026-03-29T01:30:00.000Z");
  expect(problemOf(() => parse("?created_after=2026-03-29T02:30:00+01:00")).status).toBe(400);
});

test.each(["?q=%ff", "?q=%00", "?q=%", "?%ff=1", "?__proto__=1", "?constructor=1", "?q=a&q=b"])(
  "API-05 %s answers 400",
  (search) => {
    expect(problemOf(() => parseQuery(jobListQuery, search)).status).toBe(400);
  },
);

test("status can be repeated, comma separated, or both", () => {
  expect(parseQuery(jobListQuery, "?status=queued,running&status=failed").status).toEqual([
    "queued",
    "running",
    "failed",
  ]);
});

test.each(["text/plain", "application/json; charset=latin1", "application/jsonx", "multipart/form-data", ""])(
  "a content type of %j answers 415",
  async (type) => {
    await expect(readJson(post("{}", { "content-type": type }))).rejects.toMatchObject({ status: 415 });
  },
);

test("JSON is read as UTF-8, with or without a charset; an empty body is {}", async () => {
  expect(await readJson(post('{"a":"é"}', { "content-type": 'Application/JSON; charset="UTF-8"' }))).toEqual({
    a: "é",
  });
  expect(await readJson(new Request("http://x/", { method: "POST" }))).toEqual({});
});

test("PAYLOAD-10 a body over the limit answers 413, with or without a declared length", async () => {
  await expect(readJson(post(" ".repeat(11)), 10)).rejects.toMatchObject({ status: 413 });
  const stream = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(4).fill(32)) });
  const request = new Request("http://x/", {
    method: "POST",
    body: stream,
    headers: { "content-type": "application/json" },
    duplex: "half",
  } as RequestInit);
  await expect(readJson(request, 10)).rejects.toMatchObject({ status: 413 });
});

test("a cursor is valid for its list, tenant and filter only", () => {
  const scope = { secret: "s", list: "jobs", tenantId: "t", filter: { status: ["queued"], q: undefined } };
  const id = "01890000-0000-7000-8000-00000000abcd";
  const cursor = encodeCursor(scope, id);
  expect(decodeCursor({ ...scope, filter: { q: undefined, status: ["queued"] } }, cursor)).toBe(id);
  const others = [
    { ...scope, list: "assets" },
    { ...scope, tenantId: "u" },
    { ...scope, filter: {} },
    { ...scope, secret: "x" },
  ];
  for (const other of others) expect(problemOf(() => decodeCursor(other, cursor)).code).toBe("invalid-cursor");
  for (const bad of ["", "x", `${cursor}A`, cursor.slice(1), cursor.toUpperCase(), " "]) {
    expect(problemOf(() => decodeCursor(scope, bad)).code).toBe("invalid-cursor");
  }
});

test("API-01 an Idempotency-Key is accepted bare or quoted", () => {
  const of = (value: string) => idempotencyKey(new Headers({ "idempotency-key": value }));
  expect([of("abc"), of('"abc"'), of('"a\\"b"'), of('a"b')]).toEqual(["abc", "abc", 'a"b', 'a"b']);
  expect(idempotencyKey(new Headers())).toBeNull();
  for (const bad of ["", '""', "x".repeat(256), "é"])
    expect(problemOf(() => of(bad)).code).toBe("invalid-idempotency-key");
});

test("API-01 requests are equal when method, path and the body's value are", async () => {
  const hash = async (path: string, body: unknown) => (await requestHash("POST", path, body)).toString("hex");
  const one = await hash("/a", { x: 1 });
  expect(await hash("/a", { x: 1, y: [1, { b: 2, a: 1 }] })).toBe(await hash("/a", { y: [1, { a: 1, b: 2 }], x: 1 }));
  expect(one).not.toBe(await hash("/b", { x: 1 }));
  expect(one).not.toBe(await hash("/a", { x: "1" }));
  expect(await hash("/a", { x: [1, 2] })).not.toBe(await hash("/a", { x: [2, 1] }));
});

test("a body that stops arriving answers 408, not 503", async () => {
  vi.useFakeTimers();
  try {
    const stuck = new ReadableStream<Uint8Array>({ start: (to) => to.enqueue(Buffer.from("{")) });
    const request = new Request("http://x/", { method: "POST", body: stuck, duplex: "half" } as RequestInit);
    const refused = expect(readJson(request)).rejects.toMatchObject({ code: "body-too-slow", status: 408 });
    await vi.advanceTimersByTimeAsync(5000);
    await refused;
  } finally {
    vi.useRealTimers();
  }
});
