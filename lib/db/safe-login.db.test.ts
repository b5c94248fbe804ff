import { expect, onTestFinished, test } from "vitest";
import { type Database, openDatabase, unsafeLogin } from "@/lib/db";
import { misfit } from "@/lib/process";
import { testDatabase } from "@/lib/testing/database";

const database = await testDatabase();

function open(url: string): Database {
  const db = openDatabase({ prepare: true, url, role: "web", max: 1, applicationName: "leasehold-test" });
  onTestFinished(() => db.close());
  return db;
}

test("a superuser login is refused with its name and what to do; the derived logins are accepted", async () => {
  const web = open(database.urlFor("web"));
  const others = (["auth", "platform", "worker", "scheduler"] as const).map((role) => open(database.urlFor(role)));
  expect(await misfit({ pools: [web, ...others] })).toBeNull();
  const admin = open(database.adminUrl);
  const login = decodeURIComponent(new URL(database.adminUrl).username);
  expect(await unsafeLogin(admin)).toContain(login);
  const found = await misfit({ pools: [web, ...others, admin] });
  expect(found?.advice).toMatch(/BYPASSRLS.*npm run secrets/);
  expect(found?.summary).not.toContain(login);
});

test("a login with BYPASSRLS is refused", async () => {
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
  expect((await misfit({ pools: [open(database.urlFor("web")), open(url.href)] }))?.advice).toContain(name);
});
