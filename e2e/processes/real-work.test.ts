import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { ensureDefinitions } from "@/admin/definitions";
import { startWeb } from "@/e2e/api/web";
import { testDatabase } from "@/lib/testing/database";
import { startProcess, waitFor } from "@/lib/testing/processes";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { makeFactory } from "@/lib/testing/rows/factories";
import { makeFolder } from "./stage";
import { makeTree } from "./tree";

const FILES = 2000;
const MIB = 1024 * 1024;

const database = await testDatabase();
const factory = makeFactory(database);
await ensureDefinitions(factory.platform, () => {});
await factory.close();
const make = accountsIn(database);
const tenant = await make.tenant("acme");
const admin = await make.user({ roles: { [tenant.id]: "admin" } });
const superAdmin = await make.user({ superAdmin: true });
const { key } = await make.key(admin, { tenantId: tenant.id });
const platform = await make.key(superAdmin, { kind: "super_admin", scopes: ["platform:write"] });

const base = makeFolder();
const tree = makeTree(path.join(base, "files"), FILES);
afterAll(() => tree.close());
const env = { PROVIDER_ROOTS: base, LEASEHOLD_HOME: path.join(base, "home") };
const web = await startWeb(database, env);
await startProcess("scheduler", { database });
const worker = await startProcess("worker", { database, env });
const providerId = await register("files", tree.folder);

async function register(name: string, folder: string): Promise<string> {
  const body = { tenant: "acme", name, kind: "folder", path: folder };
  const answer = await web.call("POST", "/api/v1/admin/providers", { key: platform.key, body });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.id;
}

async function work(definition_key: string, payload: unknown, withinMs = 60_000) {
  const accepted = await web.call("POST", "/api/v1/jobs", { key, body: { definition_key, payload } });
  expect(accepted.status, accepted.text).toBe(201);
  return waitFor(
    async () => {
      const { body } = await web.call("GET", `/api/v1/jobs/${accepted.body.id}`, { key });
      return body.finished_at === null ? null : body;
    },
    { withinMs, what: `the end of ${definition_key}` },
  );
}

async function inventory() {
  const rows = await database.query<{ path: string; size: string; sha256: string; seconds: number; tenant_id: string }>(
    `select path, size, sha256, tenant_id, floor(extract(epoch from modified_at))::float8 as seconds
     from app.assets where provider_id = $1`,
    [providerId],
  );
  expect(new Set(rows.map((row) => row.tenant_id))).toEqual(new Set([tenant.id]));
  return new Map(
    rows.map(({ path, size, sha256, seconds }) => [
      path,
      { path, size: Number(size), sha256, modifiedSeconds: seconds },
    ]),
  );
}

const bytesOf = (facts: ReadonlyMap<string, { size: number }>) =>
  [...facts.values()].reduce((sum, { size }) => sum + size, 0);
const nothing = { added: 0, changed: 0, removed: 0, unchanged: 0 };

// One folder, one story: each test continues where the previous one stopped.
describe("sync-folder and checksum-report on a real folder", () => {
  test("sync-folder finds exactly the files that find and sha256sum find", async () => {
    const facts = tree.facts();
    expect(facts.size).toBe(FILES);
    const job = await work("sync-folder", { provider_id: providerId });
    expect(job.status, JSON.stringify(job)).toBe("succeeded");
    const { skipped } = tree;
    expect(job.result).toEqual({ ...nothing, scanned: FILES, added: FILES, skipped, bytes: bytesOf(facts) });
    expect(await inventory()).toEqual(facts);
    console.info(`sync-folder took ${Date.parse(job.finished_at) - Date.parse(job.started_at)} ms for ${FILES} files`);
  });

  test("a second run changes nothing", async () => {
    const before = await database.query("select path, updated_at from app.assets order by path");
    const { result } = await work("sync-folder", { provider_id: providerId });
    expect(result).toMatchObject({ ...nothing, scanned: FILES, unchanged: FILES, skipped: tree.skipped });
    expect(await database.query("select path, updated_at from app.assets order by path")).toEqual(before);
  });

  test("changed, added, renamed and removed files, and files replaced by a link, are counted as such", async () => {
    const at = (name: string) => path.join(tree.folder, name);
    for (const name of ["with spaces.txt", "-rf", "new\nline.md"]) writeFileSync(at(name), "something else");
    for (const name of ["brand new 🆕", "another\nnew"]) writeFileSync(at(name), "new");
    renameSync(at("--help"), at("--version"));
    for (const name of ["`id`", "empty", "日本語.pdf"]) rmSync(at(name));
    rmSync(at("back\\slash"));
    symlinkSync("/etc/passwd", at("back\\slash"));
    const facts = tree.facts();
    const { result } = await work("sync-folder", { provider_id: providerId });
    const scanned = FILES + 2 - 4;
    expect(result).toEqual({
      scanned,
      added: 3,
      changed: 3,
      removed: 5,
      unchanged: scanned - 6,
      skipped: tree.skipped + 1,
      bytes: bytesOf(facts),
    });
    expect(await inventory()).toEqual(facts);
  });

  test("GET /assets lists the inventory", async () => {
    const listed: string[] = [];
    for (let cursor = ""; ; ) {
      const { body } = await web.call("GET", `/api/v1/assets?limit=200${cursor}`, { key });
      listed.push(...body.data.map((asset: { path: string }) => asset.path));
      if (!body.pagination.next_cursor) break;
      cursor = `&cursor=${encodeURIComponent(body.pagination.next_cursor)}`;
    }
    expect(listed.toSorted()).toEqual([...tree.facts().keys()].toSorted());
  });

  test("checksum-report prints output that sha256sum -c accepts", async () => {
    const job = await work("checksum-report", { provider_id: providerId });
    expect(job.status, JSON.stringify(job)).toBe("succeeded");
    const facts = tree.facts();
    const report = await printed(job.id);
    expect(job.result).toEqual({
      artifact: "checksums.txt",
      files: facts.size,
      bytes: bytesOf(facts),
      skipped: tree.skipped + 1,
      sha256: createHash("sha256").update(report).digest("hex"),
    });
    const artifacts = `/api/v1/jobs/${job.id}/artifacts`;
    const [kept] = (await web.call("GET", artifacts, { key })).body.data;
    expect([kept.name, kept.sha256]).toEqual(["checksums.txt", job.result.sha256]);
    const file = path.join(base, "checksums.txt");
    writeFileSync(file, (await web.call("GET", `${artifacts}/${kept.id}`, { key })).text);
    const checked = execFileSync("sha256sum", ["-c", "--strict", file], { cwd: tree.folder, encoding: "utf8" });
    expect(checked.trim().split("\n")).toHaveLength(facts.size);
    expect(checked).not.toContain("FAILED");
  });
});

/** Returns the standard output of a job from the API. */
async function printed(jobId: string): Promise<string> {
  const bodies: string[] = [];
  for (let after = ""; ; ) {
    const { body } = await web.call("GET", `/api/v1/jobs/${jobId}/logs?stream=stdout&limit=1000${after}`, { key });
    bodies.push(...body.data.map((line: { body: string }) => line.body));
    if (body.next_after === null || body.data.length === 0) return bodies.join("");
    after = `&after=${encodeURIComponent(body.next_after)}`;
  }
}

describe("a real CSV file", () => {
  test("import-csv imports 50 MB within bounded memory and reports the lines it rejects", async () => {
    const folder = path.join(base, "csv");
    mkdirSync(folder);
    const { rows, rejects } = writeCsv(path.join(folder, "people, all.csv"), 50 * MIB);
    const csvProvider = await register("csv", folder);
    const before = memoryOf(worker.pid).resident;
    const job = await work(
      "import-csv",
      { provider_id: csvProvider, path: "people, all.csv", list: "People" },
      120_000,
    );
    const grown = memoryOf(worker.pid).peak - before;
    console.info(
      `import-csv of 50 MB: ${Date.parse(job.finished_at) - Date.parse(job.started_at)} ms, ${Math.round(grown / MIB)} MiB more`,
    );
    expect(job.status, JSON.stringify(job)).toBe("succeeded");
    expect(job.result.rows).toBe(rows);
    expect(job.result.rejected).toBe(rejects.length);
    expect(job.result.rejects.map(({ line }: { line: number }) => line)).toEqual(rejects);
    expect(job.result.rejects[0].reason).toBe("2 fields instead of 4");
    expect(grown).toBeLessThan(200 * MIB);
    const [stored] = await database.query(
      `select count(*)::int as rows, min(line_no)::int as first, l.row_count::int as said, l.columns
       from app.lists l join app.list_rows r on r.list_id = l.id where l.name = 'People' group by l.row_count, l.columns`,
    );
    expect(stored).toEqual({ rows, first: 2, said: rows, columns: ["id", "name", "city", "note"] });
    const [odd] = await database.query("select data from app.list_rows where line_no = 3");
    expect(odd?.data).toEqual({ id: "3", name: 'Smith, "Jo"', city: "Zürich 🦊", note: "x".repeat(200) });
  }, 150_000);
});

/** Writes a CSV of at least that many bytes in which every ten-thousandth line is broken. Returns its counts. */
function writeCsv(file: string, bytes: number): { rows: number; rejects: number[] } {
  const fd = openSync(file, "w", 0o644);
  const note = "x".repeat(200);
  const rejects: number[] = [];
  let written = writeSync(fd, "id,name,city,note\n");
  let line = 2;
  for (; written < bytes; ) {
    const lines: string[] = [];
    for (let n = 0; n < 1000; n += 1, line += 1) {
      const isBroken = line % 10_000 === 0;
      if (isBroken) rejects.push(line);
      lines.push(isBroken ? `${line},broken\n` : `${line},"Smith, ""Jo""",Zürich 🦊,${note}\n`);
    }
    written += writeSync(fd, lines.join(""));
  }
  closeSync(fd);
  return { rows: line - 2 - rejects.length, rejects };
}

function memoryOf(pid: number): { resident: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1024;
  return { resident: kib("VmRSS"), peak: kib("VmHWM") };
}
