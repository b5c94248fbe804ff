import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { raw, request, statusOf } from "./raw";
import { expectProblem, startWeb } from "./web";

const database = await testDatabase();
const make = accountsIn(database);
const acme = await make.tenant("acme");
const user = await make.user({ roles: { [acme.id]: "admin" } });
const { key } = await make.key(user, { tenantId: acme.id });
const web = await startWeb(database);
const MIB = 1024 * 1024;
/** The first request reaches a server without warm code. */
const ANSWERS_WITHIN_MS = 20_000;

test.each([
  "*",
  "//evil",
  "/\\evil",
  "http://evil.test/",
  "/api/v1/jobs/%ff",
  "/api/v1/jobs/..%2f..%2fx",
  "/%00",
  "/api/v1/jobs/%00",
  "/a//b",
  "/api/../livez",
  "/api/%2e%2e/livez",
  "/api/v1/jobs?q=%ff",
  "/login?x=%00",
  "evil",
])("NX-3 NX-5 a request target of %s answers 400", async (target) => {
  expect(statusOf(await raw(web.url, request("GET", target), ANSWERS_WITHIN_MS))).toBe(400);
});

test.each([
  ["TRACE", "/api/v1/jobs"],
  ["PROPFIND", "/api/v1/jobs"],
  ["QUERY", "/api/v1/jobs"],
  ["PUT", "/api/v1/jobs"],
  ["DELETE", "/api/v1/me"],
  ["POST", "/login"],
  ["PUT", "/"],
  ["TRACE", "/"],
  ["POST", "/livez"],
])("API-13 NX-2 %s %s answers 405 with the allowed methods", async (method, target) => {
  const answer = await raw(web.url, request(method, target), ANSWERS_WITHIN_MS);
  expect(statusOf(answer)).toBe(405);
  expect(answer).toMatch(/\r\nallow: [A-Z]+, /i);
});

test("API-13 HEAD, OPTIONS, unknown paths and trailing slashes get the correct status", async () => {
  const options = await web.call("OPTIONS", "/api/v1/jobs");
  expect([options.status, options.headers.get("allow")]).toEqual([204, "GET, POST, HEAD, OPTIONS"]);
  const head = await web.call("HEAD", "/api/v1/me", { key });
  expect([head.status, head.text]).toEqual([200, ""]);
  for (const path of [
    "/api",
    "/api/",
    "/api/v1",
    "/api/v1/jobs/",
    "/api/v2/jobs",
    "/api/v1/JOBS",
    "/api/v1/jobs/summary/x",
  ]) {
    expectProblem(await web.call("GET", path, { key }), 404, "not-found");
  }
});

test("B11 every answer carries the security headers and forbids caching", async () => {
  for (const path of ["/api/v1/me", "/api/v1/nothing", "/livez"]) {
    const { headers } = await web.call("GET", path, { key });
    expect(headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cache-control")).toBe("private, no-store");
    expect(headers.get("x-powered-by")).toBeNull();
    expect(headers.get("x-request-id")).toMatch(/^[\w.-]{8,64}$/);
  }
});

test("B11 a page's scripts run only with the nonce, which differs in each answer", async () => {
  const [first, second] = [await web.call("GET", "/login"), await web.call("GET", "/login")];
  const nonceOf = (policy: string | null) =>
    /script-src 'self' 'nonce-([^']+)' 'strict-dynamic';/.exec(policy ?? "")?.[1];
  const nonce = nonceOf(first.headers.get("content-security-policy"));
  expect(nonce).toBeDefined();
  expect(nonce).not.toBe(nonceOf(second.headers.get("content-security-policy")));
  expect(first.headers.get("content-security-policy")).not.toMatch(/script-src[^;]*unsafe/);
  const scripts = first.text.match(/<script\b[^>]*>/g) ?? [];
  expect(scripts.length).toBeGreaterThan(0);
  for (const script of scripts) expect(script).toContain(`nonce="${nonce}"`);
  expect(first.headers.get("cache-control")).toBe("private, no-store");
});

test("a client's request id is kept if it is well formed", async () => {
  const idOf = async (sent: string) =>
    (await web.call("GET", "/livez", { headers: { "x-request-id": sent } })).headers.get("x-request-id");
  expect(await idOf("my-request-0001")).toBe("my-request-0001");
  expect(await idOf("a b\tc<script>")).not.toContain("script");
});

test.each([
  ["x-middleware-subrequest", "middleware:middleware:middleware:middleware:middleware"],
  ["x-middleware-subrequest", "src/middleware:src/middleware:src/middleware"],
  ["x-middleware-subrequest", "proxy:proxy:proxy:proxy:proxy"],
  ["x-middleware-prefetch", "1"],
  ["x-nextjs-data", "1"],
  ["x-matched-path", "/livez"],
  ["next-action", "a".repeat(40)],
  ["x-invoke-path", "/livez"],
  ["x-forwarded-host", "evil.test"],
  ["x-original-url", "/livez"],
  ["rsc", "1"],
])("TENANT-05 B2 the header %s does not bypass authentication", async (name, value) => {
  for (const path of ["/api/v1/me", "/api/v1/jobs"]) {
    expectProblem(await web.call("GET", path, { headers: { [name]: value } }), 401, "unauthenticated");
  }
});

test("a client cannot set its identity or its address with headers", async () => {
  await web.call("GET", "/api/v1/me?api_key=1", {
    headers: { "x-leasehold-client-ip": "6.6.6.6", "x-forwarded-for": "6.6.6.6" },
  });
  const rows = await database.query("select ip from app.security_audit where action = 'api_key.in_url'");
  expect(rows.map((row) => row.ip)).toEqual(["127.0.0.1"]);
});

const chunk = (size: number) =>
  Buffer.concat([Buffer.from(`${size.toString(16)}\r\n`), Buffer.alloc(size, 32), Buffer.from("\r\n")]);
const head = (extra: Record<string, string>) =>
  Buffer.from(
    request("POST", "/api/v1/jobs", { authorization: `Bearer ${key}`, "content-type": "application/json", ...extra }),
  );

test.each([MIB + 1, 11 * MIB])("PAYLOAD-10 a declared body of %i bytes answers 413", async (size) => {
  const answer = await raw(web.url, [head({ "content-length": String(size) }), Buffer.alloc(size, 32)], 5000);
  expect(statusOf(answer)).toBe(413);
});

test.each([3, 20])("PAYLOAD-10 a chunked body of %i MiB without a length answers 413", async (mib) => {
  const body = Array.from({ length: mib * 4 }, () => chunk(MIB / 4));
  const answer = await raw(
    web.url,
    [head({ "transfer-encoding": "chunked" }), ...body, Buffer.from("0\r\n\r\n")],
    5000,
  );
  expect(statusOf(answer)).toBe(413);
});

test("PAYLOAD-10 an endless body is cut off", async () => {
  const body = Array.from({ length: 200 }, () => chunk(MIB / 4));
  const answer = await raw(web.url, [head({ "transfer-encoding": "chunked" }), ...body], 6000);
  expect([0, 413]).toContain(statusOf(answer));
  expect((await web.call("GET", "/livez")).status).toBe(200);
});

test("PAYLOAD-10 a compressed body is refused without being read", async () => {
  const answer = await web.call("POST", "/api/v1/jobs", { key, body: "{}", headers: { "content-encoding": "gzip" } });
  expectProblem(answer, 415, "unsupported-media-type");
});

test.each([
  "GARBAGE\r\n\r\n",
  "GET / HTTP/9.9\r\n\r\n",
  "GET /livez HTTP/1.1\r\n\r\n",
  "POST /api/v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
  "POST /api/v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
  `GET / HTTP/1.1\r\nhost: x\r\nx: ${"a".repeat(20_000)}\r\n\r\n`,
  "GET / HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n",
])("a malformed request answers 4xx (%#)", async (text) => {
  const status = statusOf(await raw(web.url, text));
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(500);
});

test("an upgrade request is refused and its connection closed", async () => {
  const answer = await raw(
    web.url,
    request("GET", "/", {
      connection: "upgrade",
      upgrade: "websocket",
      "sec-websocket-key": "x",
      "sec-websocket-version": "13",
    }),
  );
  expect(statusOf(answer)).toBe(400);
});

test("a client that disconnects in the middle of its body does not affect the server", async () => {
  const { hostname, port } = new URL(web.url);
  const { connect } = await import("node:net");
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.write(head({ "content-length": "1000" }));
  socket.write("{");
  socket.destroy();
  expect((await web.call("GET", "/livez")).status).toBe(200);
});

test("web fails to start on a port that is in use, and names the port", async () => {
  const holder = createServer().listen(0, "127.0.0.1");
  await once(holder, "listening");
  const address = holder.address();
  const port = String(typeof address === "object" && address ? address.port : 0);
  await expect(startWeb(database, { PORT: port })).rejects.toThrow(`port ${port} is taken`);
  holder.close();
});

test("SIGTERM lets the request in progress finish, refuses new ones and exits 0", async () => {
  const own = await startWeb(database);
  const statuses = Array.from({ length: 20 }, () =>
    own.call("GET", "/api/v1/me", { key }).then((answer) => answer.status),
  );
  await Promise.race(statuses);
  const code = own.stop();
  expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
  expect(await code).toBe(0);
  await expect(own.call("GET", "/livez")).rejects.toThrow();
});

test("the server logged no error of its own during these requests", () => {
  expect(web.log()).not.toMatch(/"level":"(error|fatal)"/);
});
