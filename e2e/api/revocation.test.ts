import { afterEach, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { startWeb, type Web } from "./web";

const database = await testDatabase();
const make = accountsIn(database);
const acme = await make.tenant("acme");
const person = () => make.user({ roles: { [acme.id]: "member" } });
const [web, other] = await Promise.all([startWeb(database), startWeb(database)]);
/** The guarantee is two seconds. A busy machine gets five times that. */
const ENDS_WITHIN_MS = 10_000;

const open = new Set<AbortController>();
afterEach(() => {
  for (const controller of open) controller.abort();
  open.clear();
});

/** Opens a stream. `ended` resolves with the reason that the server gave. */
async function follow(on: Web, headers: Record<string, string>) {
  const controller = new AbortController();
  open.add(controller);
  const response = await fetch(`${on.url}/api/v1/jobs/stream?tenant=acme`, { headers, signal: controller.signal });
  expect(response.status).toBe(200);
  const text = response.text().catch(() => ""); // aborted at the end of the test
  const ended = text.then((sent) => /event: bye\ndata: (.*)\n/.exec(sent)?.[1]);
  return { ended };
}

async function endsWithin<T>(ended: Promise<T>): Promise<T | string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, ENDS_WITHIN_MS, "still open");
  });
  return Promise.race([ended, late]).finally(() => clearTimeout(timer));
}

type Person = Awaited<ReturnType<typeof person>>;
const signOut = async (_: Person, cookie: string) => {
  const { csrfToken } = (await web.call("GET", "/api/auth/csrf", { cookie })).body;
  expect((await web.call("POST", "/api/auth/signout", { cookie, body: { csrfToken } })).status).toBe(200);
};
const changePassword = async ({ password }: Person, cookie: string) => {
  const body = { current_password: password, new_password: "another good password" };
  expect((await web.call("POST", "/api/v1/me/password", { cookie, body })).status).toBe(200);
};
const sql =
  (text: string) =>
  async ({ id }: Person) =>
    void (await database.query(text, [id]));

test.each([
  ["signing out", signOut],
  ["a changed password", changePassword],
  ["disabling the person", sql("update app.users set disabled_at = now() where id = $1")],
  ["removing the membership", sql("delete from app.memberships where user_id = $1")],
])("%s ends the open streams in every process", async (_, revoke) => {
  const user = await person();
  const cookie = await web.login(user);
  const streams = [await follow(web, { cookie }), await follow(other, { cookie })];
  await revoke(user, cookie);
  for (const { ended } of streams) expect(await endsWithin(ended)).toBe('{"reason":"access"}');
  expect([401, 404]).toContain((await other.call("GET", "/api/v1/jobs", { cookie, tenant: "acme" })).status);
});

test("revoking a key ends its streams and keeps those of its creator open", async () => {
  const user = await person();
  const cookie = await web.login(user);
  const made = await make.key(user, { tenantId: acme.id });
  const streams = [await follow(other, { authorization: `Bearer ${made.key}` }), await follow(other, { cookie })];
  await database.query("update app.api_keys set revoked_at = now() where id = $1", [made.id]);
  expect(await endsWithin(streams[0]?.ended ?? Promise.reject())).toBe('{"reason":"access"}');
  const still = await Promise.race([streams[1]?.ended, Promise.resolve("open")]);
  expect(still).toBe("open");
});

test("a process that receives no notification ends the streams of a revoked session at its next poll", async () => {
  const user = await person();
  const cookie = await web.login(user);
  const { ended } = await follow(other, { cookie });
  await database.query("alter table app.sessions disable trigger user");
  try {
    await database.query("update app.sessions set revoked_at = now() where user_id = $1", [user.id]);
    expect(await endsWithin(ended)).toBe('{"reason":"access"}');
  } finally {
    await database.query("alter table app.sessions enable trigger user");
  }
});

test("an open stream and background polls do not keep a session from going idle; using the page does", async () => {
  const user = await person();
  const cookie = await web.login(user);
  const idleEnd = async () =>
    (await database.query("select idle_expires_at::text as t from app.sessions where user_id = $1", [user.id]))[0]?.t;
  await database.query("update app.sessions set last_seen_at = now() - interval '5 minutes' where user_id = $1", [
    user.id,
  ]);
  const before = await idleEnd();
  await follow(web, { cookie });
  const background = { "leasehold-background": "1" };
  expect((await web.call("GET", "/api/v1/jobs", { cookie, tenant: "acme", headers: background })).status).toBe(200);
  expect(await idleEnd()).toBe(before);
  expect((await web.call("GET", "/api/v1/jobs", { cookie, tenant: "acme" })).status).toBe(200);
  expect(await idleEnd()).not.toBe(before);
});

test("a session that goes idle while a page is open ends its stream", async () => {
  const user = await person();
  const { ended } = await follow(other, { cookie: await web.login(user) });
  await database.query("update app.sessions set idle_expires_at = now() where user_id = $1", [user.id]);
  expect(await endsWithin(ended)).toBe('{"reason":"access"}');
});

test("streams of a key do not use up the streams of its creator", async () => {
  const user = await person();
  const cookie = await web.login(user);
  const key = { authorization: `Bearer ${(await make.key(user, { tenantId: acme.id })).key}` };
  for (let i = 0; i < 6; i += 1) await follow(web, key);
  expect((await web.call("GET", "/api/v1/jobs/stream", { headers: key })).status).toBe(429);
  await follow(web, { cookie });
});

test("equal anonymous denials of one address write two audit rows a minute, the second with their count", async () => {
  const own = await startWeb(database, { TRUSTED_PROXIES: "1" });
  const ask = (n: number) =>
    own.call("GET", n % 2 ? "/api/v1/me?api_key=x" : "/api/v1/me", {
      key: n % 2 ? undefined : `wrong-${n}`,
      headers: { "x-forwarded-for": "203.0.113.77" },
    });
  for (let n = 0; n < 40; n += 1) expect((await ask(n)).status).toBe(n % 2 ? 400 : 401);
  await own.stop();
  const rows = await database.query(
    "select action, detail->>'repeated' as repeated from app.security_audit where ip = '203.0.113.77' order by action, id",
  );
  expect(rows).toEqual([
    { action: "api_key.in_url", repeated: null },
    { action: "api_key.in_url", repeated: "19" },
    { action: "api_key.rejected", repeated: null },
    { action: "api_key.rejected", repeated: "19" },
  ]);
});
