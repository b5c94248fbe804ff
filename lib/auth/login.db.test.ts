import { afterAll, expect, test } from "vitest";
import { openDatabase } from "@/lib/db";
import { testDatabase } from "@/lib/testing/database";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { login } from "./login";
import { isSessionLive } from "./session";

const database = await testDatabase();
const db = openDatabase({ prepare: true, url: database.urlFor("auth"), role: "auth", max: 3, applicationName: "test" });
afterAll(() => db.close());
const make = accountsIn(database);
const client = { ip: "127.0.0.1", userAgent: "test", requestId: "request-1" };

test("SE-2 each login creates a new session", async () => {
  const user = await make.user();
  const sent = { email: ` ${user.email.toUpperCase()} `, password: user.password };
  const first = await login(db, sent, client);
  const second = await login(db, sent, client);
  expect(first?.userId).toBe(user.id);
  expect(first?.sessionId).not.toBe(second?.sessionId);
  expect(await isSessionLive(db, second?.sessionId ?? "")).toBe(true);
});

test("a wrong password, an unknown and a disabled account return null, and are audited without the input", async () => {
  const user = await make.user();
  const disabled = await make.user({ disabled: true });
  const tries = [
    { email: user.email, password: "my-secret-guess" },
    { email: "unknown@example.test", password: "my-secret-guess" },
    { email: disabled.email, password: disabled.password },
    { email: user.email },
    { password: "x" },
    null,
  ];
  for (const sent of tries) expect(await login(db, sent, client)).toBeNull();
  const audit = await database.query("select a::text as text from app.security_audit a where action = 'login.failed'");
  expect(audit.length).toBe(3);
  for (const { text } of audit) expect(text).not.toMatch(/my-secret-guess|unknown@example/);
});
