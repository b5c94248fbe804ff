import { afterAll, expect, test } from "vitest";
import { openDatabase } from "@/lib/db";
import { testDatabase } from "@/lib/testing/database";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { generateApiKey } from "./api-key";
import { AmbiguousCredentials, getPrincipal } from "./principal";
import { openSession, revokeSession, SESSIONS_PER_USER } from "./session";

const database = await testDatabase();
const db = openDatabase({ prepare: true, url: database.urlFor("auth"), role: "auth", max: 3, applicationName: "test" });
afterAll(() => db.close());
const make = accountsIn(database);
const acme = await make.tenant("acme");
const globex = await make.tenant("globex");

const ORIGIN = "http://127.0.0.1:3000";
const client = { ip: "127.0.0.1", userAgent: "test" };
const principalOf = (headers: Record<string, string>, origin = ORIGIN) =>
  getPrincipal(new Headers(headers), { db, origin });
const byCookie = (sid: string) => principalOf({ cookie: `other=1; leasehold.session=${sid}` });
const byKey = (key: string) => principalOf({ authorization: `Bearer ${key}` });

test("SE-3 a live session identifies a user with all memberships", async () => {
  const user = await make.user({ roles: { [acme.id]: "admin", [globex.id]: "viewer" } });
  const principal = await byCookie(await openSession(db, user.id, client));
  expect(principal).toMatchObject({ kind: "user", user: { id: user.id, email: user.email, isSuperAdmin: false } });
  expect(principal?.memberships.map(({ slug, role }) => [slug, role])).toEqual([
    ["acme", "admin"],
    ["globex", "viewer"],
  ]);
});

test("SE-1 only the hash of the session id is stored", async () => {
  const user = await make.user();
  const sid = await openSession(db, user.id, client);
  const rows = await database.query("select s::text as text from app.sessions s where user_id = $1", [user.id]);
  expect(rows).toHaveLength(1);
  expect(rows[0]?.text).not.toContain(sid);
});

test.each([
  ["", {}],
  ["a cookie of another form", { cookie: "leasehold.session=x" }],
  ["an unknown session", { cookie: `leasehold.session=${"A".repeat(43)}` }],
  ["two session cookies", { cookie: `leasehold.session=${"A".repeat(43)}; leasehold.session=${"B".repeat(43)}` }],
  ["basic auth", { authorization: "Basic abc" }],
  ["an empty bearer", { authorization: "Bearer " }],
  ["a key of another form", { authorization: "Bearer lhk_live_x" }],
  ["an unknown key", { authorization: `Bearer ${generateApiKey().key}` }],
])("SE-3 %s does not authenticate", async (_, headers) => {
  expect(await principalOf(headers as Record<string, string>)).toBeNull();
});

test("SE-3 a session id in the Authorization header does not authenticate, and a session together with a key is refused", async () => {
  const user = await make.user();
  const sid = await openSession(db, user.id, client);
  const { key } = await make.key(user, { tenantId: acme.id });
  expect(await byKey(sid)).toBeNull();
  await expect(principalOf({ cookie: `leasehold.session=${sid}`, authorization: `Bearer ${key}` })).rejects.toThrow(
    AmbiguousCredentials,
  );
});

test("SE-5 on https only the __Host- cookie authenticates", async () => {
  const user = await make.user();
  const sid = await openSession(db, user.id, client);
  expect(await principalOf({ cookie: `leasehold.session=${sid}` }, "https://x.test")).toBeNull();
  expect(await principalOf({ cookie: `__Host-leasehold.session=${sid}` }, "https://x.test")).toMatchObject({
    kind: "user",
  });
});

test("SE-4 B8 logout, disabling and losing a role take effect with the next request", async () => {
  const user = await make.user({ roles: { [acme.id]: "admin" } });
  const sid = await openSession(db, user.id, client);
  await database.query("update app.memberships set role = 'viewer' where user_id = $1", [user.id]);
  expect((await byCookie(sid))?.memberships[0]?.role).toBe("viewer");
  await database.query("delete from app.memberships where user_id = $1", [user.id]);
  expect((await byCookie(sid))?.memberships).toEqual([]);
  await database.query("update app.users set disabled_at = now() where id = $1", [user.id]);
  expect(await byCookie(sid)).toBeNull();
  await database.query("update app.users set disabled_at = null where id = $1", [user.id]);
  expect(await revokeSession(db, sid)).toBe(user.id);
  expect(await byCookie(sid)).toBeNull();
  expect(await revokeSession(db, sid)).toBeNull();
});

test("SE-1 a session ends 30 idle minutes after its last use and 12 hours after the login", async () => {
  const user = await make.user();
  const sid = await openSession(db, user.id, client);
  const minutes = (n: number) => database.moveClock(n * 60_000);
  try {
    for (let at = 29; at < 12 * 60; at += 29) {
      await minutes(at);
      expect(await byCookie(sid)).not.toBeNull();
    }
    await minutes(12 * 60 + 1);
    expect(await byCookie(sid)).toBeNull();
    await minutes(0);
    const other = await openSession(db, user.id, client);
    await minutes(31);
    expect(await byCookie(other)).toBeNull();
  } finally {
    await minutes(0);
  }
});

test("SE-1 the eleventh session ends the oldest", async () => {
  const user = await make.user();
  const sids: string[] = [];
  for (let i = 0; i <= SESSIONS_PER_USER; i += 1) sids.push(await openSession(db, user.id, client));
  expect(await byCookie(sids[0] ?? "")).toBeNull();
  expect(await byCookie(sids[1] ?? "")).not.toBeNull();
});

test("K-5 a key has its creator's current rights, and stops working with the creator", async () => {
  const user = await make.user({ roles: { [acme.id]: "admin" } });
  const { key } = await make.key(user, { tenantId: acme.id, scopes: ["jobs:read", "of:the-future"] });
  expect(await byKey(key)).toMatchObject({
    kind: "api_key",
    user: { id: user.id },
    key: { kind: "tenant", scopes: ["jobs:read"], tenant: { slug: "acme" } },
  });
  await database.query("update app.users set disabled_at = now() where id = $1", [user.id]);
  expect(await byKey(key)).toBeNull();
});

test("K-2 TENANT-16 an expired, a revoked and an altered key do not authenticate", async () => {
  const user = await make.user({ roles: { [acme.id]: "admin" } });
  expect(await byKey((await make.key(user, { tenantId: acme.id, expiresIn: -1 })).key)).toBeNull();
  const revoked = await make.key(user, { tenantId: acme.id });
  await database.query("update app.api_keys set revoked_at = now() where id = $1", [revoked.id]);
  expect(await byKey(revoked.key)).toBeNull();
  const good = await make.key(user, { tenantId: acme.id });
  expect(await byKey(good.key.toLowerCase())).toBeNull();
  expect(await byKey(`${good.key}x`)).toBeNull();
  expect(await byKey(good.key)).not.toBeNull();
});

test("K-3 the right key id with another secret does not authenticate", async () => {
  const user = await make.user({ roles: { [acme.id]: "admin" } });
  const { id, key } = await make.key(user, { tenantId: acme.id });
  await database.query("update app.api_keys set secret_hash = $2 where id = $1", [id, generateApiKey().secretHash]);
  expect(await byKey(key)).toBeNull();
});

test("K-1 a mistyped key causes no database query", async () => {
  const { key } = generateApiKey();
  const closed = openDatabase({
    prepare: true,
    url: "postgres://x:y@127.0.0.1:1/none",
    role: "auth",
    max: 1,
    applicationName: "test",
  });
  const typo = key.slice(0, -1) + (key.endsWith("a") ? "b" : "a");
  const headers = (text: string) => new Headers({ authorization: `Bearer ${text}` });
  expect(await getPrincipal(headers(typo), { db: closed, origin: ORIGIN })).toBeNull();
  await expect(getPrincipal(headers(key), { db: closed, origin: ORIGIN })).rejects.toMatchObject({
    kind: "unavailable",
  });
  await closed.close();
});

test("K-7 the last use is written at most once a minute", async () => {
  const user = await make.user({ roles: { [acme.id]: "admin" } });
  const { id, key } = await make.key(user, { tenantId: acme.id });
  const lastUse = async () =>
    (await database.query("select last_used_at::text as at, xmin::text as x from app.api_keys where id = $1", [id]))[0];
  await byKey(key);
  await expect.poll(async () => (await lastUse())?.at).not.toBeNull();
  const first = await lastUse();
  for (let i = 0; i < 5; i += 1) await byKey(key);
  expect(await lastUse()).toEqual(first);
});
