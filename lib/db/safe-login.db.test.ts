import { expect, onTestFinished, test } from "vitest";
import { type Database, openDatabase, unsafeLogin } from "@/lib/db";
import { refuseUnsafeLogins } from "@/lib/process";
import { testDatabase } from "@/lib/testing/database";

const database = await testDatabase();

function open(url: string): Database {
  const db = openDatabase({ url, role: "web", max: 1, applicationName: "leasehold-test" });
  onTestFinished(() => db.close());
  return db;
}

test("E-37: a superuser login is refused with its name and what to do; the derived logins are accepted", async () => {
  const roles = (["web", "auth", "platform", "worker", "scheduler"] as const).map((role) =>
    open(database.urlFor(role)),
  );
  await refuseUnsafeLogins(roles);
  const admin = open(database.adminUrl);
  const login = decodeURIComponent(new URL(database.adminUrl).username);
  expect(await unsafeLogin(admin)).toContain(login);
  await expect(refuseUnsafeLogins([...roles, admin])).rejects.toThrow(/BYPASSRLS.*LEASEHOLD_SECRET/);
});

test("E-37: a login that only has BYPASSRLS is refused", async () => {
  const name = `bypass_${database.name}`;
  await database.query(`create role ${name} login bypassrls password 'for-this-test'`);
  await database.query(`grant connect on database ${database.name} to ${name}`);
  onTestFinished(async () => {
    await database.query(`drop owned by ${name}`);
    await database.query(`drop role ${name}`);
  });
  const url = new URL(database.adminUrl);
  url.username = name;
  url.password = "for-this-test";
  await expect(refuseUnsafeLogins([open(url.href)])).rejects.toThrow(name);
});
