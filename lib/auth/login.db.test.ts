import { afterAll, expect, test } from "vitest";
import { openDatabase } from "@/lib/db";
import { accountsIn } from "@/lib/testing/accounts";
import { testDatabase } from "@/lib/testing/database";
import { login, takeLoginTokens } from "./login";
import { isSessionLive } from "./session";
import { LOGIN_ACCOUNT, LOGIN_ADDRESS } from "./throttle";

const database = await testDatabase();
const db = openDatabase({ prepare: true, url: database.urlFor("auth"), role: "auth", max: 3, applicationName: "test" });
afterAll(() => db.close());
const make = accountsIn(database);
const client = { ip: "127.0.0.1", userAgent: "test", requestId: "request-1" };

test("SE-2 each login opens a new session", async () => {
  const user = await make.user();
  const sent = { email: ` ${user.email.toUpperCase()} `, password: user.password };
  const first = await login(db, sent, client);
  const second = await login(db, sent, client);
  expect(first?.userId).toBe(user.id);
  expect(first?.sessionId).not.toBe(second?.sessionId);
  expect(await isSessionLive(db, second?.sessionId ?? "")).toBe(true);
});

test("a wrong password, an unknown and a disabled account all get null, and are audited without what was typed", async () => {
  const user = await make.user();
  const disabled = await make.user({ disabled: true });
  const tries = [
    { email: user.email, password: "my-secret-guess" },
    { email: "nobody@example.test", password: "my-secret-guess" },
    { email: disabled.email, password: disabled.password },
    { email: user.email },
    { password: "x" },
    null,
  ];
  for (const sent of tries) expect(await login(db, sent, client)).toBeNull();
  const audit = await database.query("select a::text as text from app.security_audit a where action = 'login.failed'");
  expect(audit.length).toBe(3);
  for (const { text } of audit) expect(text).not.toMatch(/my-secret-guess|nobody@example/);
});

test("RL-1 an account is throttled after its burst, whether it exists or not", async () => {
  for (const email of [(await make.user()).email, "ghost@example.test"]) {
    for (let i = 0; i < LOGIN_ACCOUNT.burst; i += 1) expect(await takeLoginTokens(db, email, `10.0.0.${i}`)).toBe(0);
    expect(await takeLoginTokens(db, email, "10.0.1.1")).toBeGreaterThan(0);
  }
});

test("RL-1 an address is throttled over all accounts, and recovers with time", async () => {
  const take = (i: number) => takeLoginTokens(db, `a${i}@example.test`, "10.9.9.9");
  for (let i = 0; i < LOGIN_ADDRESS.burst; i += 1) expect(await take(i)).toBe(0);
  expect(await take(1000)).toBeGreaterThan(0);
  await database.moveClock(10 * LOGIN_ADDRESS.secondsPerToken * 1000);
  expect(await take(1001)).toBe(0);
  await database.moveClock(0);
});

test("RL-1 two callers never share the last token", async () => {
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => takeLoginTokens(db, "race@example.test", `10.1.0.${i}`)),
  );
  expect(answers.filter((wait) => wait === 0)).toHaveLength(LOGIN_ACCOUNT.burst);
});

test("logins that succeed cost nothing", async () => {
  const user = await make.user();
  for (let i = 0; i < LOGIN_ACCOUNT.burst + 3; i += 1) {
    expect(await takeLoginTokens(db, user.email, "10.2.0.1")).toBe(0);
    await login(db, user, { ...client, ip: "10.2.0.1" });
  }
});
