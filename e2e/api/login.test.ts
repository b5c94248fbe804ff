import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { cookiesOf, expectProblem, startWeb } from "./web";

const database = await testDatabase();
const make = accountsIn(database);
const acme = await make.tenant("acme");
const globex = await make.tenant("globex");
const user = await make.user({ roles: { [acme.id]: "admin", [globex.id]: "viewer" } });
const web = await startWeb(database);

const csrf = async () => {
  const answer = await web.call("GET", "/api/auth/csrf");
  return { cookie: cookiesOf(answer), csrfToken: answer.body.csrfToken as string };
};
const post = async (action: string, fields: Record<string, unknown>, headers: Record<string, string> = {}) => {
  const { cookie, csrfToken } = await csrf();
  return web.call("POST", `/api/auth/${action}`, { cookie, body: { csrfToken, ...fields }, headers });
};
const signIn = (fields: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  post("callback/credentials", { email: user.email, password: user.password, ...fields }, headers);

test("SE-1 login sets a session cookie that scripts cannot read and other sites cannot send", async () => {
  const answer = await signIn({ callbackUrl: "/t/acme/jobs" });
  expect(answer.body).toEqual({ url: "/t/acme/jobs" });
  const cookie = answer.headers.getSetCookie().find((line) => line.startsWith("leasehold.session="));
  expect(cookie).toMatch(/^leasehold\.session=[A-Za-z0-9_-]{43};/);
  expect(cookie).toMatch(/HttpOnly/);
  expect(cookie).toMatch(/SameSite=Lax/i);
});

test("AJ-1 a forged host changes no redirect", async () => {
  const headers = { "x-forwarded-host": "evil.test", "x-forwarded-proto": "https", forwarded: "host=evil.test" };
  expect((await signIn({ callbackUrl: "/x" }, headers)).text).not.toContain("evil.test");
});

test.each([
  "//evil",
  "/\\evil",
  "https:evil",
  "@evil.com",
  ".evil.com",
  "/\t/evil",
  "javascript:alert(1)",
  "https://app@evil",
  "data:text/html,x",
  "http://[::1",
])("TENANT-03 a login with the target %j redirects to the start page", async (callbackUrl) => {
  expect((await signIn({ callbackUrl })).body).toEqual({ url: "/" });
  expect((await post("signout", { callbackUrl })).body).toEqual({ url: "/" });
});

test("TENANT-03 a login with an endless target path redirects to the start page", async () => {
  expect((await signIn({ callbackUrl: `/${"a".repeat(5000)}` })).body).toEqual({ url: "/" });
});

test("a wrong password and an unknown account give the same answer", async () => {
  const wrong = await signIn({ password: "wrong password" });
  const unknown = await signIn({ email: "unknown@example.test" });
  expect([wrong.status, unknown.status]).toEqual([401, 401]);
  expect(wrong.text).toBe(unknown.text);
  expect(wrong.headers.getSetCookie().join()).not.toContain("leasehold.session");
});

test("RL-1 AJ-4 after too many failures the answer is 429, also for the correct password", async () => {
  const victim = await make.user();
  let answer = await signIn({ email: victim.email, password: "wrong password" });
  for (let i = 0; i < 10 && answer.status === 401; i += 1)
    answer = await signIn({ email: victim.email, password: "wrong password" });
  expectProblem(answer, 429, "too-many-requests");
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  expectProblem(await signIn({ email: victim.email, password: victim.password }), 429, "too-many-requests");
});

test("B10 CS-1 a login or logout from another site is refused", async () => {
  for (const site of ["cross-site", "same-site", "none"]) {
    expectProblem(await signIn({}, { "sec-fetch-site": site }), 403, "cross-site-request");
  }
  const { cookie, csrfToken } = await csrf();
  const send = (headers: Record<string, string>) =>
    fetch(`${web.url}/api/auth/signout`, {
      method: "POST",
      body: JSON.stringify({ csrfToken }),
      headers: { cookie, "content-type": "application/json", ...headers },
    });
  expect((await send({})).status).toBe(403);
  expect((await send({ origin: "null" })).status).toBe(403);
  expect((await send({ origin: "http://evil.test" })).status).toBe(403);
  expect((await send({ origin: web.url })).status).toBe(200);
});

test("a login without the CSRF token of its page is refused", async () => {
  const { cookie } = await csrf();
  const body = { csrfToken: "forged", email: user.email, password: user.password };
  expectProblem(await web.call("POST", "/api/auth/callback/credentials", { cookie, body }), 403, "cross-site-request");
});

test("B9 AJ-2 a session holder cannot change the session's contents", async () => {
  const cookie = await web.login(user);
  const before = (await web.call("GET", "/api/v1/me", { cookie })).body;
  const { csrfToken } = (await web.call("GET", "/api/auth/csrf", { cookie })).body;
  for (const body of [
    { csrfToken, data: { role: "super_admin" } },
    { csrfToken, role: "super_admin", sid: "x", uid: "y", is_super_admin: "true" },
  ]) {
    expect((await web.call("POST", "/api/auth/session", { cookie, body })).status).toBeLessThan(500);
  }
  expect((await web.call("GET", "/api/v1/me", { cookie })).body).toEqual(before);
});

test("AJ-3 B8 logout ends the session everywhere, also for a copied cookie", async () => {
  const cookie = await web.login(user);
  const second = await startWeb(database);
  expect((await second.call("GET", "/api/v1/me", { cookie })).status).toBe(200);
  const { csrfToken } = (await web.call("GET", "/api/auth/csrf", { cookie })).body;
  expect((await web.call("POST", "/api/auth/signout", { cookie, body: { csrfToken } })).status).toBe(200);
  expectProblem(await web.call("GET", "/api/v1/me", { cookie }), 401, "unauthenticated");
  expectProblem(await second.call("GET", "/api/v1/me", { cookie }), 401, "unauthenticated");
});

test.each([
  ["GET", "providers"],
  ["GET", "callback/credentials"],
  ["GET", "error"],
  ["GET", "verify-request"],
  ["POST", "signin/credentials"],
  ["POST", "_log"],
  ["GET", "callback/google"],
])("SE-1 %s /api/auth/%s does not exist", async (method, action) => {
  const { cookie } = await csrf();
  const answer = await fetch(`${web.url}/api/auth/${action}`, { method, headers: { cookie, origin: web.url } });
  expect([400, 404]).toContain(answer.status);
});

test.each(["javascript:1", "http://[::1", "//evil", "%2F%2Fevil", "%ff", "/a\\b"])(
  "NX-3 a callback cookie of %j breaks neither the login nor a page nor the API",
  async (value) => {
    const bad = `leasehold.callback=${value}`;
    const answer = await web.call("GET", "/api/auth/csrf", { headers: { cookie: bad } });
    expectProblem(answer, 400, "bad-request");
    expect(answer.headers.getSetCookie().join()).toMatch(/leasehold\.callback=;.*Max-Age=0/);
    const cookie = await web.login(user);
    expect((await web.call("GET", "/api/v1/me", { cookie: `${cookie}; ${bad}` })).status).toBe(200);
  },
);

test.each(["{", "[]", "null", '"x"', '{"email":1}', '{"email":"a","email":"b"}', "x".repeat(20_000)])(
  "a login body that is not a form answers 4xx (%#)",
  async (body) => {
    const { cookie } = await csrf();
    const answer = await web.call("POST", "/api/auth/callback/credentials", { cookie, body });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
  },
);

test("SE-1 a session id in the Authorization header does not authenticate", async () => {
  const cookie = await web.login(user);
  const [, sid = ""] = /leasehold\.session=([^;]+)/.exec(cookie) ?? [];
  expectProblem(await web.call("GET", "/api/v1/me", { key: sid }), 401, "unauthenticated");
});

test("no password, token or other secret is logged", async () => {
  await signIn({ password: "canary-password-1" });
  const cookie = await web.login(user);
  const [, sid = "none"] = /leasehold\.session=([^;]+)/.exec(cookie) ?? [];
  expect(web.log()).not.toContain("canary-password-1");
  expect(web.log()).not.toContain(sid);
  expect(web.log()).not.toMatch(/"level":"(error|fatal)"/);
});
