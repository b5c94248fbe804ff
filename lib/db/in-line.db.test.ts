import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { borrow } from "@/lib/testing/rows/borrow";
import { currentLine, runInCommonLine, runInLine } from "./in-line";
import { DatabaseError, inLine, openDatabase, statement } from "./index";

const database = await testDatabase();
const one = statement("line_one", "select 1 as one");

function open(max: number, acquireTimeoutMs = 30_000) {
  const url = database.urlFor("web");
  const db = openDatabase({ prepare: true, url, role: "web", max, acquireTimeoutMs, applicationName: "lines" });
  onTestFinished(() => db.close());
  return db;
}

test("lines take turns: a caller waits for at most one caller of another line", async () => {
  const db = open(2);
  const borrowed = [await borrow(db), await borrow(db)];
  const served: string[] = [];
  const call = async (name: string) => {
    await runInLine(name, () => db.run(one));
    served.push(name);
  };
  const calls = [...Array.from({ length: 50 }, () => call("a")), call("b")];
  const ofPage = inLine(db, "c");
  calls.push(ofPage.transaction((tx) => tx.run(one)).then(() => void served.push("c")));
  await expect.poll(() => db.stats().waiting).toBe(52);
  await borrowed[0]?.();
  await Promise.all(calls);
  expect(served.slice(0, 4)).toEqual(["a", "b", "c", "a"]);
  await borrowed[1]?.();
  expect(db.stats()).toMatchObject({ total: 2, idle: 2, waiting: 0 });
});

test("callers of one line hold at most four fifths of the connections, so other lines get one at once", async () => {
  const db = open(8);
  const holding = await Promise.all(Array.from({ length: 6 }, () => runInLine("a", () => borrow(db))));
  const more = runInLine("a", () => db.run(one));
  await expect.poll(() => db.stats().waiting).toBe(1);
  expect(await Promise.all([runInLine("b", () => db.run(one)), db.run(one)])).toHaveLength(2);
  expect(db.stats().waiting).toBe(1);
  await holding[0]?.();
  expect(await more).toHaveLength(1);
  await Promise.all(holding.slice(1).map((giveBack) => giveBack()));
  expect(db.stats()).toMatchObject({ waiting: 0 });
});

test("a caller leaves its line at the acquire timeout", async () => {
  const db = open(1, 300);
  const giveBack = await borrow(db);
  const given = await Promise.allSettled(["a", "a", "b"].map((name) => runInLine(name, () => db.run(one))));
  for (const { status, ...rest } of given) {
    expect(status).toBe("rejected");
    expect(rest).toMatchObject({ reason: { name: "DatabaseError", kind: "unavailable", undone: true } });
  }
  expect(db.stats().waiting).toBe(0);
  await giveBack();
  expect(await Promise.all([db.run(one), runInLine("a", () => db.run(one))])).toHaveLength(2);
});

test("closing the pool rejects waiting callers", async () => {
  const db = open(1);
  const giveBack = await borrow(db);
  const waits = Promise.allSettled(["a", "b"].map((name) => runInLine(name, () => db.run(one))));
  await expect.poll(() => db.stats().waiting).toBe(2);
  const closed = db.close();
  for (const end of await waits) expect(end).toMatchObject({ reason: expect.any(DatabaseError) });
  await giveBack();
  await closed;
});

test("failed connections return their turns", async () => {
  const url = new URL(database.urlFor("web"));
  url.pathname = "/absent";
  const db = openDatabase({ prepare: true, url: url.href, role: "web", max: 1, applicationName: "lines" });
  onTestFinished(() => db.close());
  for (let time = 0; time < 3; time += 1) await expect(db.run(one)).rejects.toMatchObject({ kind: "unavailable" });
});

test("work that outlives its line and work for several lines use the common line", async () => {
  let later: Promise<string> | undefined;
  await runInLine("a", async () => {
    later = setImmediate().then(currentLine);
    expect([currentLine(), runInCommonLine(currentLine)]).toEqual(["a", ""]);
  });
  expect(await later).toBe("");
});
