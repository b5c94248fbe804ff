import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { migrate, roleUrl } from "@/lib/db";
import { startEmbedded } from "@/lib/db/embedded/index.mjs";
import type { TestDatabase } from "@/lib/testing/database";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { expectProblem, startWeb } from "./web";

const home = mkdtempSync(join(tmpdir(), "leasehold-down-"));
afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
const boot = (port?: number) =>
  startEmbedded({ home, password: "a password of this test alone", durable: false, ...(port ? { port } : {}) });
let server = await boot();
afterAll(() => server.stop());

const secret = randomBytes(32).toString("base64url");
const adminUrl = server.adminUrl("postgres");
await migrate({ adminUrl, secret, log: () => {} });
const query = async (text: string, values?: unknown[]) => {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
};
const database = { adminUrl, secret, query, urlFor: (role) => roleUrl(adminUrl, secret, role) } as TestDatabase;
const make = accountsIn(database);
const acme = await make.tenant("acme");
const user = await make.user({ roles: { [acme.id]: "admin" } });
const { key } = await make.key(user, { tenantId: acme.id });
const web = await startWeb(database);

test("answers 503 with Retry-After within five seconds while the database is down, never 500, and recovers with it", async () => {
  const cookie = await web.login(user);
  const csrf = await web.call("GET", "/api/auth/csrf");
  expect((await web.call("GET", "/api/v1/assets", { key })).status).toBe(200);
  await server.stop();
  const calls = () => [
    web.call("GET", "/api/v1/assets", { key }),
    web.call("GET", "/api/v1/me", { cookie }),
    web.call("GET", "/api/v1/jobs", { cookie, tenant: "acme" }),
    web.call("GET", "/api/v1/jobs/stream", { key }),
    web.call("POST", "/api/v1/jobs", { key, body: { definition_key: "x" }, headers: { "idempotency-key": "down-1" } }),
    web.call("POST", "/api/v1/jobs", { key, body: { definition_key: "x" } }),
    web.call("GET", "/readyz"),
    web.call("POST", "/api/auth/callback/credentials", {
      cookie: csrf.headers
        .getSetCookie()
        .map((line) => line.split(";")[0])
        .join("; "),
      body: { csrfToken: csrf.body.csrfToken, email: user.email, password: user.password },
    }),
  ];
  for (let round = 0; round < 3; round += 1) {
    const started = performance.now();
    for (const answer of await Promise.all(calls())) {
      expectProblem(answer, 503, "unavailable");
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(answer.text).not.toMatch(/ECONNREFUSED|127\.0\.0\.1|select|SQL/i);
    }
    expect(performance.now() - started).toBeLessThan(5000);
  }
  expect((await web.call("GET", "/livez")).status).toBe(200);
  expect(web.log()).not.toMatch(/"level":"(error|fatal)"/);
  server = await boot(server.port);
  expect(server.adminUrl("postgres")).toBe(adminUrl);
  await expect.poll(async () => (await web.call("GET", "/api/v1/assets", { key })).status, { timeout: 5000 }).toBe(200);
  expect((await web.call("GET", "/api/v1/me", { cookie })).status).toBe(200);
});
