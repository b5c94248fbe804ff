import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { afterAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { PAGES } from "@/web/front/pages";
import { queueFixture } from "./queue-fixture";
import type { Answer } from "./web";

const database = await testDatabase();
const { web, key, admin } = await queueFixture(database, { TRUSTED_PROXIES: "127.0.0.0/8" });
const agent = new Agent({ keepAlive: false, maxSockets: 1000 });
afterAll(() => agent.destroy());

/** A well-formed session id without a session. */
const UNKNOWN = `leasehold.session=${"A".repeat(43)}`;
const SESSION_PAGES = PAGES.filter((page) => page !== "/login" && !page.startsWith("/docs/")).map((page) =>
  page.replace("[tenant]", "acme").replaceAll(/\[\w+\]/g, "00000000-0000-4000-8000-000000000000"),
);

/** Processor time of the web process so far, in milliseconds; /proc counts in hundredths of a second. */
function processorMs(): number {
  const [, after = ""] = readFileSync(`/proc/${web.pid}/stat`, "utf8").split(") ");
  const [user = 0, system = 0] = after.split(" ").slice(11, 13).map(Number);
  return 10 * (user + system);
}

/** Follows the framework's redirect, which corrects the cache key of a request for data (`_rsc`). */
async function ask(path: string, headers: Record<string, string>): Promise<Answer> {
  const answer = await web.call("GET", path, { headers });
  const location = answer.headers.get("location") ?? "";
  return location.startsWith(`${path}?_rsc`) ? web.call("GET", location, { headers }) : answer;
}

test.each(SESSION_PAGES)(
  "%s redirects a visitor without a session like one whose session has expired",
  async (path) => {
    const over = await ask(path, { cookie: UNKNOWN });
    const location = over.headers.get("location");
    expect([over.status, location]).toEqual([307, expect.stringMatching(/^\/login\?callbackUrl=%2F/)]);
    const withoutSession: Record<string, string>[] = [
      {},
      { cookie: "leasehold.session=x" },
      { rsc: "1" },
      { rsc: "1", "next-router-prefetch": "1" },
    ];
    for (const headers of withoutSession) {
      const answer = await ask(path, headers);
      expect([answer.status, answer.headers.get("location"), answer.text]).toEqual([307, location, ""]);
    }
    // For a page that is open in a browser, the framework puts the redirect into the data.
    expect((await ask(path, { cookie: UNKNOWN, rsc: "1" })).text).toContain(`NEXT_REDIRECT;replace;${location};307;`);
  },
);

const FLOODS: readonly (readonly [what: string, path: string, headers: Record<string, string>, status: number])[] = [
  ["/login without a session", "/login", {}, 200],
  ["/login with a cookie that cannot be a session", "/login", { cookie: "leasehold.session=x" }, 200],
  ["/login with an unknown session", "/login", { cookie: UNKNOWN }, 200],
  ["a page that does not exist", "/nothing/here", {}, 404],
  ["a page without a session", "/t/acme/jobs", {}, 307],
  ["the data of a page without a session", "/t/acme/jobs", { rsc: "1" }, 307],
  ["a page with an unknown session", "/t/acme/jobs", { cookie: UNKNOWN }, 307],
  ["the data of a page with an unknown session", "/t/acme/jobs", { cookie: UNKNOWN, rsc: "1" }, 200],
  ["/select-tenant with an unknown session", "/select-tenant", { cookie: UNKNOWN }, 307],
  ["a platform page with an unknown session", "/platform/queues", { cookie: UNKNOWN }, 307],
];

const AT_ONCE = 400;
/** Processor time of web from the start of the flood to another client's answer: five times the measured value. */
const WITHIN_MS = 2000;

function send(path: string, headers: Record<string, string>) {
  const request = get(web.url + path, { agent, headers: { ...headers, "x-forwarded-for": "198.51.100.1" } });
  const sent = once(request, "finish");
  const status = new Promise<number>((resolve, reject) => {
    request.on("error", reject).on("response", (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
    });
  });
  return { sent, status };
}

test.skipIf(process.platform !== "linux").each(FLOODS)(
  "400 requests at once for %s barely delay the calls and pages of other clients",
  async (_, path, headers, status) => {
    const cookie = await web.login(admin);
    const elsewhere = { "x-forwarded-for": "203.0.113.1" };
    const call = () => web.call("GET", "/api/v1/jobs?limit=5", { key, headers: elsewhere });
    const page = () => web.call("GET", "/t/acme/jobs", { cookie, headers: elsewhere });
    expect([(await call()).status, (await page()).status]).toEqual([200, 200]);
    const { location = path } = Object.fromEntries((await web.call("GET", path, { headers })).headers);
    const target = location.startsWith(`${path}?_rsc`) ? location : path;
    const began = processorMs();
    const flood = Array.from({ length: AT_ONCE }, () => send(target, headers));
    await Promise.all(flood.map(({ sent }) => sent));
    for (const ask of [call, page]) {
      expect((await ask()).status).toBe(200);
      expect(processorMs() - began).toBeLessThan(WITHIN_MS);
    }
    // Once many requests of a network wait, pages that must be rendered are refused.
    const allowed = headers.cookie === UNKNOWN ? [status, 429, 503] : [status];
    for (const one of await Promise.all(flood.map((request) => request.status))) expect(allowed).toContain(one);
  },
  240_000,
);
