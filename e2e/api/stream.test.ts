import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { queueFixture } from "./queue-fixture";
import { request } from "./raw";

const database = await testDatabase();
const { web, make, acme, admin, key, foreignKey, enqueue, expectProblem } = await queueFixture(database);

interface Event {
  readonly event: string;
  readonly data: Record<string, unknown>;
}

const open = new Set<AbortController>();
afterEach(() => {
  for (const controller of open) controller.abort();
  open.clear();
});

async function follow(headers: Record<string, string>, query = "") {
  const controller = new AbortController();
  open.add(controller);
  const response = await fetch(`${web.url}/api/v1/jobs/stream${query}`, { headers, signal: controller.signal });
  const events: Event[] = [];
  let text = "";
  const done = (async () => {
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const fields = Object.fromEntries(
          text
            .slice(0, end)
            .split("\n")
            .map((line) => line.split(/: (.*)/s).slice(0, 2)),
        );
        text = text.slice(end + 2);
        if (fields.event) events.push({ event: fields.event, data: JSON.parse(fields.data ?? "null") });
      }
    }
  })().catch(() => {});
  const seen = (id: string) => events.find(({ event, data }) => event === "job.changed" && data.id === id);
  return { response, events, seen, done, close: () => controller.abort() };
}

const bearer = (text: string) => ({ authorization: `Bearer ${text}` });

test("a new job appears in the stream within a second, for its own tenant only", async () => {
  const mine = await follow(bearer(key));
  const theirs = await follow(bearer(foreignKey));
  expect(mine.response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(mine.response.headers.get("cache-control")).toBe("private, no-store");
  await expect.poll(() => mine.events.some(({ event }) => event === "summary"), { timeout: 10_000 }).toBe(true);
  const job = await enqueue({ scheduled_for: "2126-01-01T00:00:00Z" });
  const started = performance.now();
  await expect.poll(() => mine.seen(job.id), { timeout: 6000, interval: 20 }).toBeDefined();
  expect(performance.now() - started).toBeLessThan(1000 * 5);
  expect(mine.seen(job.id)?.data).toMatchObject({
    status: "queued",
    definition_key: "any",
    attempt_count: 0,
    progress: null,
  });
  const other = await enqueue({}, foreignKey);
  await expect.poll(() => theirs.seen(other.id), { timeout: 10_000 }).toBeDefined();
  expect([theirs.seen(job.id), mine.seen(other.id)]).toEqual([undefined, undefined]);
});

test("a canceled job appears in the stream as canceled", async () => {
  const job = await enqueue({ scheduled_for: "2126-01-01T00:00:00Z" });
  const stream = await follow(bearer(key));
  await expect.poll(() => stream.events.length, { timeout: 10_000 }).toBeGreaterThan(0);
  await web.call("POST", `/api/v1/jobs/${job.id}/cancel`, { key, body: {} });
  await expect
    .poll(() => stream.events.some(({ data }) => data.id === job.id && data.status === "canceled"), { timeout: 10_000 })
    .toBe(true);
});

test("a browser names the tenant in the query and can stream only tenants it may read", async () => {
  const cookie = await web.login(admin);
  const stream = await follow({ cookie }, "?tenant=acme");
  expect(stream.response.status).toBe(200);
  stream.close();
  for (const [query, status, code] of [
    ["", 400, "tenant-required"],
    ["?tenant=globex", 404, "not-found"],
    ["?tenant=acme&x=1", 400, "invalid-query"],
  ] as const) {
    expectProblem(await web.call("GET", `/api/v1/jobs/stream${query}`, { cookie }), status, code);
  }
  expect((await web.call("HEAD", "/api/v1/jobs/stream", { key })).status).toBe(200);
});

test("a key can have six open streams, and closing one frees it", async () => {
  const person = await make.user({ roles: { [acme.id]: "viewer" } });
  const own = bearer((await make.key(person, { tenantId: acme.id })).key);
  const streams = [];
  for (let i = 0; i < 6; i += 1) streams.push(await follow(own));
  const seventh = await web.call("GET", "/api/v1/jobs/stream", { headers: own });
  expectProblem(seventh, 429, "too-many-streams");
  streams[0]?.close();
  await expect.poll(async () => (await follow(own)).response.status, { timeout: 5000 }).toBe(200);
});

test("a client that disconnects before the answer does not keep a stream slot", async () => {
  const person = await make.user({ roles: { [acme.id]: "viewer" } });
  const own = bearer((await make.key(person, { tenantId: acme.id })).key);
  const { hostname, port } = new URL(web.url);
  for (let i = 0; i < 60; i += 1) {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.write(request("GET", "/api/v1/jobs/stream", own));
    await setTimeout(i % 20);
    socket.resetAndDestroy();
  }
  for (let i = 0; i < 6; i += 1)
    await expect.poll(async () => (await follow(own)).response.status, { timeout: 10_000 }).toBe(200);
});

test("SIGTERM sends a goodbye to open streams and does not wait for them", async () => {
  const stream = await follow(bearer(key));
  await expect.poll(() => stream.events.length, { timeout: 10_000 }).toBeGreaterThan(0);
  const started = performance.now();
  expect(await web.stop()).toBe(0);
  await stream.done;
  expect(stream.events.at(-1)).toEqual({ event: "bye", data: { reason: "shutdown" } });
  expect(performance.now() - started).toBeLessThan(8000);
  expect(web.log()).not.toMatch(/"level":"(error|fatal)"/);
});
