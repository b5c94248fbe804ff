import { randomUUID } from "node:crypto";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openHandlerBench } from "./handler-bench.fixture";
import { longestMainTurn } from "./main-turns.fixture";

const bench = await openHandlerBench();
const { database, put, run } = bench;

const listRows = (list: string) =>
  database.query<{ line_no: string; data: unknown }>(
    "select r.line_no, r.data from app.list_rows r join app.lists l on l.id = r.list_id where l.name = $1 order by r.line_no",
    [list],
  );

test("import-csv fills a list, reports its rejects, and a second run writes the same", async () => {
  put("people.csv", 'name,age\n"A, ""B""",1\nshort\n\nC,3\n');
  const read_as = { delimiter: ",", quote: '"', encoding: "utf-8", header: true };
  const expected = { rows: 2, rejected: 1, rejects: [{ line: 3, reason: "1 fields instead of 2" }], read_as };
  const payload = { path: "people.csv", list: "people" };
  expect(await run("import-csv", payload)).toEqual(expected);
  expect(await run("import-csv", payload)).toEqual(expected);
  expect(await listRows("people")).toEqual([
    { line_no: "2", data: { name: 'A, "B"', age: "1" } },
    { line_no: "5", data: { name: "C", age: "3" } },
  ]);
  const lists = await database.query("select columns, row_count from app.lists where name = 'people'");
  expect(lists).toEqual([{ columns: ["name", "age"], row_count: "2" }]);
});

test("import-csv deletes what a longer import left, also at rejected lines", async () => {
  const payload = { path: "list.csv", list: "shrinking" };
  put("list.csv", `n\n${Array.from({ length: 2500 }, (_unused, index) => index).join("\n")}\n`);
  expect(await run("import-csv", payload)).toMatchObject({ rows: 2500 });
  put("list.csv", "n\n1\nbad,line\n3\n");
  expect(await run("import-csv", payload)).toMatchObject({ rows: 2, rejected: 1 });
  expect(await listRows("shrinking")).toEqual([
    { line_no: "2", data: { n: "1" } },
    { line_no: "4", data: { n: "3" } },
  ]);
});

test("import-csv reports the first 1,000 of many rejects", async () => {
  put("bad.csv", `a,b\n${"x\n".repeat(2500)}ok,1\n`);
  const result = (await run("import-csv", { path: "bad.csv", list: "bad" })) as {
    rows: number;
    rejected: number;
    rejects: unknown[];
  };
  expect(result).toMatchObject({ rows: 1, rejected: 2500 });
  expect(result.rejects).toHaveLength(1000);
  expect(result.rejects.at(-1)).toEqual({ line: 1001, reason: "1 fields instead of 2" });
});

test("import-csv stores a row of megabytes unchanged, and blocks the event loop for less than 100 ms", async () => {
  const fields = ["支🎉\\\n\u0001", "", '"'.repeat(1_000_000), `x${"🎉".repeat(100_000)}`, '"'.repeat(500)];
  const line = fields.map((field) => `"${field.replaceAll('"', '""')}"`).join(",");
  const many = `,,,,"${'""'.repeat(500)}"\n`.repeat(1500);
  put("long.csv", `a,b,c,d,__proto__\n${line}\n${many}`);
  const longestMs = await longestMainTurn(async () => {
    const result = await run("import-csv", { path: "long.csv", list: "long", delimiter: "," });
    expect(result).toMatchObject({ rows: 1501, rejected: 0 });
  }, 100);
  expect(longestMs).toBeLessThan(100);
  const [first, second] = await listRows("long");
  expect(
    ["a", "b", "c", "d", "__proto__"].map((key) => Object.getOwnPropertyDescriptor(first?.data, key)?.value),
  ).toEqual(fields);
  expect(Object.values(second?.data as object)).toContain('"'.repeat(500));
});

const storedIn = (list: string) =>
  database.query<{ generation: string; rows: number; columns: string[]; row_count: string }>(
    `select r.generation, count(*)::int as rows, l.columns, l.row_count from app.lists l
     left join app.list_rows r on r.list_id = l.id where l.name = $1 group by l.id, r.generation`,
    [list],
  );
const numbers = (count: number, prefix: string) =>
  `n\n${Array.from({ length: count }, (_unused, index) => prefix + index).join("\n")}\n`;

test.each([
  ["a quote that is never closed", `n\n${"1\n".repeat(3000)}"open\n`],
  ["no columns", "\n\n"],
  ["broken UTF-16", Buffer.concat([Buffer.from(`\ufeff${numbers(60_000, "u")}`, "utf16le"), Buffer.from([0x31])])],
])("a file with %s leaves the list unchanged and no other rows", async (what, file) => {
  const list = `kept ${what}`;
  put("good.csv", numbers(10, "a"));
  await run("import-csv", { path: "good.csv", list });
  put("bad.csv", file);
  for (const name of [list, `new ${what}`]) {
    expect(await run("import-csv", { path: "bad.csv", list: name })).toMatchObject({ errorType: "invalid_input" });
  }
  expect(await storedIn(list)).toEqual([{ generation: "1", rows: 10, columns: ["n"], row_count: "10" }]);
  expect(await storedIn(`new ${what}`)).toEqual([]);
  expect(await database.query("select from app.list_imports")).toEqual([]);
});

test("each of several concurrent imports replaces the list completely", async () => {
  for (let round = 0; round < 3; round += 1) {
    put("a.csv", numbers(6000, "a"));
    put("b.csv", numbers(4000, "b"));
    await Promise.all(["a.csv", "b.csv"].map((path) => run("import-csv", { path, list: "both" })));
    const rows = await listRows("both");
    const letters = new Set(rows.map((row) => (row.data as { n: string }).n[0]));
    expect([...letters]).toHaveLength(1);
    expect(rows).toHaveLength(letters.has("a") ? 6000 : 4000);
    expect(await storedIn("both")).toMatchObject([{ row_count: String(rows.length) }]);
  }
});

test("rows of a late attempt are in no list, and the tenant's next import deletes them", async () => {
  put("late.csv", numbers(2500, "late"));
  put("next.csv", numbers(5, "next"));
  const jobId = randomUUID();
  expect(await run("import-csv", { path: "late.csv", list: "beside" }, { jobId, commits: 3 })).toEqual({
    kind: "lease_lost",
  });
  // An import whose job may be running is left alone.
  await run("import-csv", { path: "next.csv", list: "beside" });
  expect(await storedIn("beside")).toMatchObject([{ rows: 2000 }, { rows: 5, row_count: "5" }]);
  // The next attempt of the job.
  await run("import-csv", { path: "late.csv", list: "beside" }, { jobId });
  expect(await storedIn("beside")).toMatchObject([{ rows: 2500, row_count: "2500" }]);
  // An import of a job that no longer exists, whose attempt began long ago.
  expect(await run("import-csv", { path: "late.csv", list: "other" }, { commits: 3 })).toEqual({ kind: "lease_lost" });
  await database.query("update app.list_imports set started_at = started_at - interval '9 days'");
  await run("import-csv", { path: "next.csv", list: "beside" });
  expect(await storedIn("other")).toEqual([]);
  expect(await storedIn("beside")).toMatchObject([{ rows: 5, row_count: "5" }]);
});

test("LEASE-03 a late attempt of import-csv writes no row of its batch", async () => {
  put("late.csv", "a\n1\n");
  expect(await run("import-csv", { path: "late.csv", list: "late" }, { commits: 1 })).toEqual({ kind: "lease_lost" });
  expect(await listRows("late")).toEqual([]);
});

test.each([
  ["../escape.csv", "invalid_input"],
  ["absent.csv", "not_found"],
  ["link.csv", "invalid_input"],
  ["folder", "invalid_input"],
])("import-csv refuses %s", async (path, errorType) => {
  mkdirSync(join(bench.data, "folder"));
  symlinkSync("/etc/passwd", join(bench.data, "link.csv"));
  expect(await run("import-csv", { path, list: "x" })).toMatchObject({ kind: "failed", errorType });
});
