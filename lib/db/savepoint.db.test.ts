import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { openDatabase, statement } from "./index";

const database = await testDatabase();

test("a savepoint rolls back the failed part, and the transaction continues", async () => {
  const db = openDatabase({
    prepare: true,
    url: database.urlFor("web"),
    role: "web",
    max: 1,
    applicationName: "savepoint",
  });
  onTestFinished(() => db.close());
  const say = (value: string) => statement("say", `insert into public.said values ('${value}')`);
  await database.query("create table public.said (value text primary key)");
  await database.query("grant select, insert on public.said to public");
  await db.transaction(async (tx) => {
    await tx.run(say("before"));
    const inner = tx.savepoint(async () => {
      await tx.run(say("inside"));
      await tx.savepoint(() => tx.run(say("deeper")));
      await tx.run(say("before"));
    });
    await expect(inner).rejects.toMatchObject({ kind: "conflict" });
    expect(await tx.savepoint(async () => (await tx.run(say("after"))).length)).toBe(0);
  });
  expect(await database.query("select value from public.said order by 1")).toEqual([
    { value: "after" },
    { value: "before" },
  ]);
});
