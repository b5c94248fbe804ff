import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { patiently } from "@/lib/testing/patiently";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { cookiesOf, expectProblem, startWeb } from "./web";

const database = await testDatabase();
const make = accountsIn(database);
const acme = await make.tenant("acme");
const person = () => make.user({ roles: { [acme.id]: "member" } });
const web = await startWeb(database, { TRUSTED_PROXIES: "127.0.0.0/8,192.0.2.0/24" });

/** Like any proxy, appends the address of its client to X-Forwarded-For. Tests give the address in a header. */
const proxy = createServer((req, res) => {
  const { "test-client": client = "", ...headers } = req.headers;
  const forwarded = [headers["x-forwarded-for"], client].filter(Boolean).join(", ");
  const passed = { ...headers, "x-forwarded-for": forwarded };
  const inner = request(web.url + req.url, { method: req.method, headers: passed }, (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(res);
  });
  inner.on("error", () => res.destroy());
  req.pipe(inner);
});
// Longer than this process may be busy, because fetch fails when a connection closes just before its next use.
proxy.keepAliveTimeout = 60_000;
proxy.listen(0, "127.0.0.1");
await once(proxy, "listening");
const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
afterAll(() => {
  proxy.closeAllConnections();
  proxy.close();
});

const csrf = await web.call("GET", "/api/auth/csrf");

interface From {
  readonly client: string;
  readonly forwarded?: string;
  readonly cookie?: string;
}

async function signIn(email: string, password: string, { client, forwarded, cookie = "" }: From) {
  const response = await fetch(`${proxyUrl}/api/auth/callback/credentials`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "sec-fetch-site": "same-origin",
      cookie: [cookiesOf(csrf), cookie].filter(Boolean).join("; "),
      "test-client": client,
      ...(forwarded === undefined ? {} : { "x-forwarded-for": forwarded }),
    },
    body: JSON.stringify({ csrfToken: csrf.body.csrfToken, email, password }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

test("ten wrong passwords from one address do not keep the user from signing in from another", async () => {
  const max = await person();
  for (let i = 0; i < 10; i += 1)
    expect((await signIn(max.email, "wrong password", { client: "198.51.100.1" })).status).toBe(401);
  expectProblem(await signIn(max.email, max.password, { client: "198.51.100.1" }), 429, "too-many-requests");
  expect((await signIn(max.email, max.password, { client: "203.0.113.9" })).status).toBe(200);
});

test("guessing at sixty accounts blocks the one client behind the proxy that sent them, and no other", async () => {
  // No password, so that no hash has to be computed for each.
  const spray = (i: number) =>
    signIn(`spray${i}@example.test`, "", { client: "198.51.100.2", forwarded: `6.6.6.${i}` });
  const statuses = [];
  for (let i = 0; i < 60; i += 1) statuses.push((await spray(i)).status);
  expect(statuses.at(-1)).toBe(429);
  for (let i = 0; i < 60; i += 1)
    expect((await signIn(`wide${i}@example.test`, "", { client: `203.0.114.${i}` })).status).toBe(401);
  const innocent = await person();
  expect((await signIn(innocent.email, innocent.password, { client: "203.0.113.10" })).status).toBe(200);
  const rows = await database.query("select distinct ip from app.security_audit where actor_id = $1", [innocent.id]);
  expect(rows).toEqual([{ ip: "203.0.113.10" }]);
});

test("a browser with the signed cookie of an earlier sign-in can sign in while its address is blocked", async () => {
  const [ida, stranger] = [await person(), await person()];
  const client = "198.51.100.3";
  const first = await signIn(ida.email, ida.password, { client });
  const cookie = cookiesOf(first);
  const line = first.headers.getSetCookie().find((one) => one.startsWith("leasehold.device="));
  expect(line).toMatch(/HttpOnly/);
  expect(line).toMatch(/SameSite=Lax/);
  for (let i = 0; i < 55; i += 1) await signIn(i < 11 ? ida.email : `ida${i}@example.test`, "", { client });
  expectProblem(await signIn(ida.email, ida.password, { client }), 429, "too-many-requests");
  expectProblem(await signIn(stranger.email, ida.password, { client, cookie }), 429, "too-many-requests");
  expect((await signIn(ida.email, ida.password, { client, cookie })).status).toBe(200);
});

test("wrong passwords from many addresses delay sign-ins to an account without refusing them", async () => {
  const eva = await person();
  for (let i = 0; i < 20; i += 1) await signIn(eva.email, "", { client: `203.0.115.${i}` });
  const started = performance.now();
  const answer = await signIn(eva.email, eva.password, { client: "203.0.116.1" });
  expect(answer.status).toBe(200);
  expect(performance.now() - started).toBeGreaterThan(1900);
  const known = await signIn(eva.email, "", { client: "203.0.116.1", cookie: cookiesOf(answer) });
  expect(known.status).toBe(401);
});

test("a flood of sign-ins from one network blocks neither another network nor a known browser", async () => {
  const [known, other] = [await person(), await person()];
  const cookie = cookiesOf(await signIn(known.email, known.password, { client: "203.0.113.20" }));
  const statuses = new Set<number>();
  let [isOver, sent] = [false, 0];
  const caller = async () => {
    while (!isOver) {
      sent += 1;
      const attempt = await signIn(`flood${sent}@example.test`, "wrong password", {
        client: `198.51.101.${sent % 250}`,
      });
      statuses.add(attempt.status);
    }
  };
  const flood = Promise.all(Array.from({ length: 150 }, caller));
  try {
    await sleep(1000);
    for (let round = 0; round < 3; round += 1) {
      const knownBrowser = { client: "198.51.101.7", cookie };
      const otherNetwork = { client: "203.0.117.1" };
      expect((await patiently(() => signIn(known.email, known.password, knownBrowser), 2)).status).toBe(200);
      expect((await patiently(() => signIn(other.email, other.password, otherNetwork), 2)).status).toBe(200);
    }
  } finally {
    isOver = true;
    await flood;
  }
  // 503: on a busy machine an attempt may exceed the route's time limit.
  for (const status of statuses) expect([401, 429, 503]).toContain(status);
  expect(statuses).toContain(429);
}, 120_000);
