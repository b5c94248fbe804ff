import { execFileSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openHandlerBench } from "./handler-bench.fixture";

const bench = await openHandlerBench();
const { database, put, run } = bench;

const inventory = () =>
  database.query<{ path: string; sha256: string; size: string; updated_at: Date }>(
    'select path, sha256, size, updated_at from app.assets where provider_id = $1 order by path collate "C"',
    [bench.providerId],
  );
const paths = async () => (await inventory()).map((asset) => asset.path);
const none = { added: 0, changed: 0, removed: 0, unchanged: 0, skipped: 0 };
test("sync-folder writes all files once, and then only the differences", async () => {
  put("a\n🎉", "one");
  put("-b", "two");
  put("c", "three");
  symlinkSync("/etc/passwd", join(bench.data, "link"));
  expect(await run("sync-folder", {})).toEqual({ ...none, scanned: 3, added: 3, skipped: 1, bytes: 11 });
  const before = await inventory();
  expect(before.map(({ path, size }) => [path, size])).toEqual([
    ["-b", "3"],
    ["a\n🎉", "3"],
    ["c", "5"],
  ]);
  expect(before[0]?.sha256).toBe(createHash("sha256").update("two").digest("hex"));
  put("c", "other");
  rmSync(join(bench.data, "-b"));
  put("d", "");
  expect(await run("sync-folder", {})).toEqual({
    scanned: 3,
    added: 1,
    changed: 1,
    removed: 1,
    unchanged: 1,
    skipped: 1,
    bytes: 8,
  });
  const after = await inventory();
  expect(after.map((asset) => asset.path)).toEqual(["a\n🎉", "c", "d"]);
  expect(after[0]?.updated_at).toEqual(before[1]?.updated_at);
});

test("sync-folder counts like a single run after an attempt that failed half-way", async () => {
  for (let index = 0; index < 1200; index += 1) put(`file-${index}`, "old");
  expect(await run("sync-folder", {})).toMatchObject({ added: 1200 });
  for (let index = 0; index < 10; index += 1) put(`file-${index}`, "new");
  for (let index = 1200; index < 1300; index += 1) put(`file-${index}`, "added");
  rmSync(join(bench.data, "file-20"));
  const jobId = randomUUID();
  expect(await run("sync-folder", {}, { jobId, commits: 2 })).toEqual({ kind: "lease_lost" });
  // Files that came and went between attempts do not count for the job.
  await database.query(
    "update app.assets set path = 'gone', path_hash = sha256('gone') where provider_id = $1 and seen_in = $2 and change = 'added' and path = (select max(path) from app.assets where seen_in = $2 and change = 'added')",
    [bench.providerId, jobId],
  );
  expect(await run("sync-folder", {}, { jobId })).toMatchObject({
    scanned: 1299,
    added: 100,
    changed: 10,
    removed: 1,
    unchanged: 1189,
  });
  expect(await paths()).toHaveLength(1299);
});

test("LEASE-03 a late attempt of sync-folder writes no row", async () => {
  put("a", "1");
  expect(await run("sync-folder", {}, { commits: 1 })).toEqual({ kind: "lease_lost" });
  expect(await paths()).toEqual([]);
});

test("sync-folder removes only below its path_prefix", async () => {
  for (const sub of ["sub", "sub-2", "other"]) {
    mkdirSync(join(bench.data, sub), { mode: 0o755 });
    put(`${sub}/x%_`, sub);
  }
  await run("sync-folder", {});
  for (const sub of ["sub", "sub-2", "other"]) rmSync(join(bench.data, sub, "x%_"));
  put("sub/y", "new");
  expect(await run("sync-folder", { path_prefix: "sub/" })).toEqual({
    ...none,
    scanned: 1,
    added: 1,
    removed: 1,
    bytes: 3,
  });
  expect(await paths()).toEqual(["other/x%_", "sub-2/x%_", "sub/y"]);
});

const events = () =>
  database.query<{ name: string; data: Record<string, unknown> }>(
    "select name, data - array['job_id', 'list_id'] as data from app.events where data ->> 'provider_id' = $1 order by id",
    [bench.providerId],
  );

test("Z-05 sync-folder publishes one event for each added or changed image, and for no other file", async () => {
  const png = Buffer.from("89504e470d0a1a0a", "hex");
  put("notes.txt", "no image");
  await run("sync-folder", {});
  expect(await events()).toEqual([]);
  mkdirSync(join(bench.data, "album"), { mode: 0o755 });
  writeFileSync(join(bench.data, "album", "one.png"), png);
  const jobId = randomUUID();
  await run("sync-folder", { path_prefix: "/album/" }, { jobId });
  await run("sync-folder", { path_prefix: "/album/" }, { jobId });
  await run("sync-folder", {});
  const counts = { images_added: 1, images_changed: 0, added: 1, changed: 0, removed: 0 };
  const published = { provider_id: bench.providerId, folder_path: "album", ...counts };
  expect(await events()).toEqual([{ name: "images.ingest.completed", data: published }]);
});

test("Z-05 import-csv publishes an event when a new list is filled, and not when it is filled again", async () => {
  put("new.csv", "a,b\n1,2\n3,4\n");
  const payload = { path: "new.csv", list: "announced" };
  const jobId = randomUUID();
  expect(await run("import-csv", payload, { jobId, commits: 2 })).toEqual({ kind: "lease_lost" });
  expect(await events()).toEqual([]);
  await run("import-csv", payload, { jobId });
  await run("import-csv", payload);
  const published = { name: "announced", columns: ["a", "b"], rows: 2, provider_id: bench.providerId, path: "new.csv" };
  expect(await events()).toEqual([{ name: "list.created", data: published }]);
});

test("sync-folder keeps the rows of unreadable files, and deletes those of paths that are no longer files", async () => {
  mkdirSync(join(bench.data, "closed"), { mode: 0o755 });
  for (const name of ["closed/in", "secret", "pipe"]) put(name, name);
  await run("sync-folder", {});
  rmSync(join(bench.data, "pipe"));
  execFileSync("mkfifo", [join(bench.data, "pipe")]);
  execFileSync("chmod", ["0", join(bench.data, "closed"), join(bench.data, "secret")]);
  const result = await run("sync-folder", {});
  execFileSync("chmod", ["755", join(bench.data, "closed"), join(bench.data, "secret")]);
  expect(result).toEqual({ ...none, scanned: 0, removed: 1, skipped: 3, bytes: 0 });
  expect(await paths()).toEqual(["closed/in", "secret"]);
});

test("sync-folder keeps the rows of existing files when the clock is set back during its walk", async () => {
  mkdirSync(join(bench.data, "closed"), { mode: 0o755 });
  for (const name of ["closed/in", "same", "gone"]) put(name, name);
  await run("sync-folder", {});
  rmSync(join(bench.data, "gone"));
  put("new", "new");
  execFileSync("chmod", ["0", join(bench.data, "closed")]);
  const result = await run("sync-folder", {}, { onBegun: () => database.moveClock(-60_000) });
  await database.moveClock(0);
  execFileSync("chmod", ["755", join(bench.data, "closed")]);
  expect(result).toMatchObject({ added: 1, unchanged: 1, removed: 1, skipped: 1 });
  expect(await paths()).toEqual(["closed/in", "new", "same"]);
});

test("sync-folder deletes nothing when the folder is missing", async () => {
  put("a", "1");
  await run("sync-folder", {});
  rmSync(bench.data, { recursive: true });
  expect(await run("sync-folder", {})).toMatchObject({ kind: "failed", errorType: "not_found" });
  expect(await paths()).toEqual(["a"]);
});

test("sync-folder keeps rows that another job saw meanwhile", async () => {
  put("a", "1");
  await run("sync-folder", {});
  rmSync(join(bench.data, "a"));
  await database.query("update app.assets set seen_at = app.now() + interval '1 minute' where provider_id = $1", [
    bench.providerId,
  ]);
  expect(await run("sync-folder", {})).toMatchObject({ removed: 0 });
});
