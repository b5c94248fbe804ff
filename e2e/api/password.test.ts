import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { cookiesOf, expectProblem, startWeb } from "./web";

const database = await testDatabase();
const make = accountsIn(database);
const acme = await make.tenant("acme");
const web = await startWeb(database);
const NEXT = "another good password";

const change = (cookie: string, body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  web.call("POST", "/api/v1/me/password", { cookie, body, headers });
const person = () => make.user({ roles: { [acme.id]: "admin" } });

test("SE-2 changing the password ends every other session and gives the current one a new id", async () => {
  const user = await person();
  const [here, elsewhere] = [await web.login(user), await web.login(user)];
  const answer = await change(here, { current_password: user.password, new_password: NEXT });
  expect(answer.status, answer.text).toBe(200);
  const fresh = cookiesOf(answer);
  expect(fresh).toMatch(/^leasehold\.session=[A-Za-z0-9_-]{43}$/);
  expect(answer.headers.getSetCookie()[0]).toMatch(/HttpOnly; SameSite=Lax/);
  for (const old of [here, elsewhere]) expect((await web.call("GET", "/api/v1/me", { cookie: old })).status).toBe(401);
  expect((await web.call("GET", "/api/v1/me", { cookie: fresh })).status).toBe(200);
  await web.login({ ...user, password: NEXT });
  const audit = await database.query("select success from app.security_audit where action = 'password.change'");
  expect(audit).toEqual([{ success: true }]);
});

test("PW-1 a wrong current password and a weak or unchanged new one are refused with a pointer", async () => {
  const user = await person();
  const cookie = await web.login(user);
  const refused = async (body: Record<string, unknown>) => {
    const answer = await change(cookie, body);
    expect(answer.status, answer.text).toBe(422);
    return answer.body.errors[0].pointer;
  };
  expect(await refused({ current_password: "not the right one", new_password: NEXT })).toBe("/current_password");
  expect(await refused({ current_password: user.password, new_password: "short" })).toBe("/new_password");
  expect(await refused({ current_password: user.password, new_password: user.password })).toBe("/new_password");
  expect(await refused({ current_password: user.password, new_password: "😀".repeat(6) })).toBe("/new_password");
  for (const weak of ["aaaaaaaaaaaa", "123456789012", `${user.email}1`, "leasehold2026"])
    expect(await refused({ current_password: user.password, new_password: weak }), weak).toBe("/new_password");
  expect(await refused({ current_password: user.password, new_password: "ﷺ".repeat(100) })).toBe("/new_password");
  expect((await web.call("GET", "/api/v1/me", { cookie })).status).toBe(200);
});

test("after ten wrong current passwords the next attempt must wait", async () => {
  const user = await person();
  const cookie = await web.login(user);
  const statuses: number[] = [];
  for (let tries = 0; tries < 11; tries++) {
    statuses.push((await change(cookie, { current_password: "not the right one", new_password: NEXT })).status);
  }
  expect(statuses).toEqual([...Array(10).fill(422), 429]);
  const answer = await change(cookie, { current_password: user.password, new_password: NEXT });
  expectProblem(answer, 429, "too-many-requests");
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
});

test("of two concurrent changes one succeeds", async () => {
  const user = await person();
  const cookie = await web.login(user);
  const passwords = [NEXT, `${NEXT} too`];
  const answers = await Promise.all(
    passwords.map((password) => change(cookie, { current_password: user.password, new_password: password })),
  );
  const made = answers.findIndex((answer) => answer.status === 200);
  // A late loser finds its session ended. A concurrent loser finds another password.
  expect([401, 422]).toContain(answers[1 - made]?.status);
  await web.login({ ...user, password: passwords[made] ?? "" });
});

test("CS-1 another site or an API key cannot change the password", async () => {
  const user = await person();
  const cookie = await web.login(user);
  const body = { current_password: user.password, new_password: NEXT };
  expectProblem(await change(cookie, body, { "sec-fetch-site": "cross-site" }), 403, "cross-site-request");
  const { key } = await make.key(user, { tenantId: acme.id });
  expectProblem(await web.call("POST", "/api/v1/me/password", { key, body }), 403, "forbidden");
  await web.login(user);
});

test("a one-time password only allows changing it", async () => {
  const user = await person();
  await database.query("update app.users set must_change_password = true where id = $1", [user.id]);
  const cookie = await web.login(user);
  expectProblem(await web.call("GET", "/api/v1/jobs", { cookie, tenant: "acme" }), 403, "password-change-required");
  expect((await web.call("GET", "/api/v1/me", { cookie })).body.user.must_change_password).toBe(true);
  for (const page of ["/", "/t/acme/jobs"]) {
    const answer = await web.call("GET", page, { cookie });
    expect([answer.status, answer.headers.get("location")]).toEqual([307, "/account/password"]);
  }
  expect((await web.call("GET", "/account/password", { cookie })).text).toContain("one-time password");
  const fresh = cookiesOf(await change(cookie, { current_password: user.password, new_password: NEXT }));
  expect((await web.call("GET", "/api/v1/jobs", { cookie: fresh, tenant: "acme" })).status).toBe(200);
});
