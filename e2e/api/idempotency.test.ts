import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { queueFixture } from "./queue-fixture";

const database = await testDatabase();
const { web, make, acme, admin, key, foreignKey, superKey, post, jobCount, expectProblem } =
  await queueFixture(database);
const BODY = { definition_key: "any", payload: { a: 1, b: 2 } };
const once = (idempotencyKey: string, body: unknown = BODY) => post(body, { "idempotency-key": idempotencyKey });

test("API-01 the same key and body return the same answer and create one job", async () => {
  const before = await jobCount();
  const first = await once("k1");
  const second = await once("k1");
  const relaid = await once("k1", '{ "payload": {"b":2,"a":1}, "definition_key":"any" }');
  expect([first.status, second.status, relaid.status]).toEqual([201, 201, 201]);
  expect([second.text, relaid.text]).toEqual([first.text, first.text]);
  expect(first.headers.get("idempotency-replayed")).toBeNull();
  expect(second.headers.get("idempotency-replayed")).toBe("true");
  expect(second.headers.get("location")).toBe(first.headers.get("location"));
  expect(await jobCount()).toBe(before + 1);
});

test("API-01 another body with the same key is refused", async () => {
  await once("k2");
  expectProblem(await once("k2", { ...BODY, priority: 5 }), 422, "idempotency-mismatch");
});

test("API-01 a key belongs to one tenant, one route and the API key that sent it", async () => {
  const first = await once("k3");
  const { key: sibling } = await make.key(admin, { tenantId: acme.id });
  const send = (as: string, path = "/api/v1/jobs") =>
    web.call("POST", path, { key: as, body: path.endsWith("jobs") ? BODY : {}, headers: { "idempotency-key": "k3" } });
  expect((await send(sibling)).body.id).not.toBe(first.body.id);
  expect((await send(foreignKey)).body.id).not.toBe(first.body.id);
  const canceled = await send(key, `/api/v1/jobs/${first.body.id}/cancel`);
  expect([canceled.status, canceled.body.status]).toEqual([200, "canceled"]);
  expect((await send(key, `/api/v1/jobs/${first.body.id}/cancel`)).text).toBe(canceled.text);
  const other = await once("k3-other");
  expectProblem(await send(key, `/api/v1/jobs/${other.body.id}/cancel`), 422, "idempotency-mismatch");
});

test("API-01 parallel first requests create one job; the others wait for its answer or get it", async () => {
  const before = await jobCount();
  const answers = await Promise.all(Array.from({ length: 12 }, () => once("k4")));
  for (const answer of answers) {
    if (answer.status === 409) expect(answer.headers.get("retry-after")).toBe("1");
    expect([201, 409]).toContain(answer.status);
  }
  expect(new Set(answers.filter((answer) => answer.status === 201).map((answer) => answer.body.id)).size).toBe(1);
  expect(await jobCount()).toBe(before + 1);
});

test("API-01 the key of a failed request can be used again", async () => {
  expectProblem(await once("k5", { definition_key: "nothing" }), 422, "definition-unknown");
  expect((await once("k5")).status).toBe(201);
});

test("API-01 a key expires after 24 hours", async () => {
  const first = await once("k6");
  await database.moveClock(25 * 3600 * 1000);
  const later = await web.call("POST", "/api/v1/jobs", {
    key: (await make.key(admin, { tenantId: acme.id, expiresIn: 3 * 86_400 })).key,
    body: BODY,
    headers: { "idempotency-key": "k6" },
  });
  await database.moveClock(0);
  expect(later.status).toBe(201);
  expect(later.body.id).not.toBe(first.body.id);
});

test.each(["", "x".repeat(256), "caf\u00e9", '""'])("API-01 a key of %j is refused", async (idempotencyKey) => {
  expectProblem(await once(idempotencyKey), 400, "invalid-idempotency-key");
});

test("API-01 a quoted key equals the bare key, and 255 characters are accepted", async () => {
  const bare = await once("k7");
  expect((await once('"k7"')).body.id).toBe(bare.body.id);
  expect((await once("x".repeat(255))).status).toBe(201);
});

test("API-01 platform routes are idempotent too", async () => {
  const create = (name: string) =>
    web.call("POST", "/api/v1/admin/jobs/definitions", {
      key: superKey,
      body: { key: name },
      headers: { "idempotency-key": "p1" },
    });
  const first = await create("one-only");
  expect(first.status).toBe(201);
  expect((await create("one-only")).text).toBe(first.text);
  expectProblem(await create("another"), 422, "idempotency-mismatch");
});
