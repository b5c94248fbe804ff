import { expect, test } from "vitest";
import { accountsIn } from "@/lib/testing/accounts";
import { testDatabase } from "@/lib/testing/database";
import { cookiesOf, expectProblem, startWeb } from "./web";

const database = await testDatabase();
const make = accountsIn(database);
const acme = await make.tenant("acme");
const web = await startWeb(database);
const NEXT = "another good password";

const change = (cookie: string, body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  web.call("POST", "/api/v1/me/password", { cookie, body, headers });
const person = () => make.user({ roles: { [acme.id]: "admin" } });

test("SE-2 a changed password ends every other session, and the present one goes on under a new id", async () => {
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

test("PW-1 a wrong present password, a weak new one and the same one again are refused where they stand", async () => {
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
  expect((await web.call("GET", "/api/v1/me", { cookie })).status).toBe(200);
});

test("CS-1 a password is not changed by another site, nor with an API key", async () => {
  const user = await person();
  const cookie = await web.login(user);
  const body = { current_password: user.password, new_password: NEXT };
  expectProblem(await change(cookie, body, { "sec-fetch-site": "cross-site" }), 403, "cross-site-request");
  const { key } = await make.key(user, { tenantId: acme.id });
  expectProblem(await web.call("POST", "/api/v1/me/password", { key, body }), 403, "forbidden");
  await web.login(user);
});

test("a one-time password opens nothing but its own change", async () => {
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
