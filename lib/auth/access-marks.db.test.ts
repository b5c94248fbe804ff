import { afterAll, expect, test } from "vitest";
import { listen, openDatabase } from "@/lib/db";
import { testDatabase } from "@/lib/testing/database";
import { eventually } from "@/lib/testing/eventually";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { ACCESS_CHANNEL, accessMarks } from "./access-marks";
import { changePassword } from "./change-password";
import { openSession, revokeSession, sessionHash } from "./session";

const database = await testDatabase();
const db = openDatabase({ prepare: true, url: database.urlFor("auth"), role: "auth", max: 3, applicationName: "test" });
const make = accountsIn(database);
const acme = await make.tenant("acme");
const client = { ip: "127.0.0.1", userAgent: "test", requestId: "request-1" };
const heard: string[] = [];
let onReady = () => {};
const ready = new Promise<void>((resolve) => {
  onReady = resolve;
});
const listener = listen({
  url: database.urlFor("auth"),
  channels: [ACCESS_CHANNEL],
  onNotify: (_, payload) => void heard.push(payload),
  onReady,
});
afterAll(() => Promise.all([listener.close(), db.close()]));
await ready;

async function person() {
  const user = await make.user({ roles: { [acme.id]: "member" } });
  const sid = await openSession(db, user.id, client);
  const key = await make.key(user, { tenantId: acme.id });
  return { ...user, sid, key: key.id };
}
type Person = Awaited<ReturnType<typeof person>>;
const marksOf = async ({ sid, key }: Person) => {
  const session = sessionHash(sid).toString("hex");
  const marks = await accessMarks(db, { sessions: [session], keys: [key] });
  return [marks.get(session), marks.get(key)];
};
const sql = (text: string) => (one: Person) => database.query(text, [one.id]);

test.each([
  ["signing out", ({ sid }: Person) => revokeSession(db, sid), "session"],
  [
    "a changed password",
    ({ id, password }: Person) =>
      changePassword(db, { userId: id, current: password, next: "another good password" }, client),
    "session",
  ],
  ["disabling the person", sql("update app.users set disabled_at = now() where id = $1"), "both"],
  ["deleting the person", sql("delete from app.users where id = $1"), "both"],
  ["a one-time password", sql("update app.users set must_change_password = true where id = $1"), "both"],
  ["removing a membership", sql("delete from app.memberships where user_id = $1"), "both"],
  ["a lower role", sql("update app.memberships set role = 'viewer' where user_id = $1"), "both"],
  ["revoking a key", sql("update app.api_keys set revoked_at = now() where created_by = $1"), "key"],
  ["fewer scopes of a key", sql("update app.api_keys set scopes = '{}' where created_by = $1"), "key"],
])("%s notifies the web processes with the user's id and changes the marks", async (...[, revoke, concerns]) => {
  const one = await person();
  const before = await marksOf(one);
  expect(before.every((mark) => mark !== undefined)).toBe(true);
  heard.length = 0;
  await revoke(one);
  await eventually(() => expect(heard).toContain(one.id));
  const after = await marksOf(one);
  expect([before[0] !== after[0], before[1] !== after[1]]).toEqual([concerns !== "key", concerns !== "session"]);
});

test("suspending a tenant notifies the web processes about all users and changes its members' marks", async () => {
  const one = await person();
  const before = await marksOf(one);
  heard.length = 0;
  await database.query("update app.tenants set status = 'suspended' where id = $1", [acme.id]);
  await eventually(() => expect(heard).toContain("*"));
  expect((await marksOf(one))[0]).not.toBe(before[0]);
});

test("using sessions and keys sends no notification", async () => {
  const one = await person();
  heard.length = 0;
  await database.query("update app.sessions set last_seen_at = now() where user_id = $1", [one.id]);
  await database.query("update app.api_keys set last_used_at = now() where id = $1", [one.key]);
  await database.query("select pg_notify('leasehold_access', 'end')");
  await eventually(() => expect(heard).toEqual(["end"]));
});
