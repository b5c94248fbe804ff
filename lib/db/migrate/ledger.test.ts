import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { defaultSchemaFolder, readSchemaFiles } from "./files";
import { pendingFunctions, pendingMigrations } from "./ledger";
import { rolePassword, roleUrl } from "./role-logins.mjs";
import { scramVerifier } from "./scram-verifier";

const file = (name: string, sha256 = `hash of ${name}`) => ({ name, sha256, sql: "" });
const files = [file("0001_a"), file("0002_b"), file("0003_c")];

/** Makes a folder of schema files; `functions/` has one file unless the contents name others. */
function folderWith(contents: Record<string, string>): string {
  const folder = mkdtempSync(path.join(tmpdir(), "leasehold-migrations-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const part of ["migrations", "functions"]) mkdirSync(path.join(folder, part));
  for (const [name, text] of Object.entries({ "functions/a.sql": "", ...contents }))
    writeFileSync(path.join(folder, name), text);
  return folder;
}

test("files missing from the ledger are pending, in order", () => {
  expect(pendingMigrations(files, [file("0001_a")]).map(({ name }) => name)).toEqual(["0002_b", "0003_c"]);
  expect(pendingMigrations(files, files)).toEqual([]);
});

test.each([
  ["a changed file", [file("0001_a", "another")], /0001_a\.sql is not the file/],
  ["a newer database", [...files, file("0004_d")], /0004_d, which this build does not know/],
  ["a gap", [file("0001_a"), file("0003_c")], /0002_b is missing/],
])("%s is refused with a message that names it", (_what, applied, message) => {
  expect(() => pendingMigrations(files, applied)).toThrow(message);
});

test("migration files are numbered without gaps, and line endings do not change their hashes", () => {
  const [one] = readSchemaFiles(folderWith({ "migrations/0001_a.sql": "select 1;\n", "README.md": "" })).migrations;
  const [two] = readSchemaFiles(folderWith({ "migrations/0001_a.sql": "select 1;\r\n" })).migrations;
  expect(one?.sha256).toBe(two?.sha256);
  const gap = folderWith({ "migrations/0001_a.sql": "", "migrations/0003_b.sql": "" });
  expect(() => readSchemaFiles(gap)).toThrow("should have number 2");
  const twice = folderWith({ "migrations/0001_a.sql": "", "migrations/0001_b.sql": "" });
  expect(() => readSchemaFiles(twice)).toThrow("should have number 2");
  expect(() => readSchemaFiles(folderWith({}))).toThrow("no SQL files");
  expect(() => readSchemaFiles("/nowhere")).toThrow("cannot be read");
});

test("a database of a development version is refused with instructions", () => {
  expect(() => pendingMigrations(files, [file("0001_schema_and_clock"), file("0002_tenancy")])).toThrow(
    /development version.*npm start -- --new-demo/,
  );
});

test("a file of functions is applied when its text differs from the one in force", () => {
  const functions = [file("claim", "2"), file("limits", "1"), file("release", "1")];
  const applied = [file("claim", "1"), file("limits", "1")];
  expect(pendingFunctions(functions, applied).map(({ name }) => name)).toEqual(["claim", "release"]);
  expect(pendingFunctions(functions, [...applied, file("claim", "2"), file("release", "1")])).toEqual([]);
});

test.each([
  ["a later text", [file("claim", "1"), file("claim", "2")]],
  ["a file that this build lacks", [file("claim", "1"), file("of-tomorrow", "1")]],
])("an older build does not replace %s of a newer build", (_what, applied) => {
  expect(() => pendingFunctions([file("claim", "1")], applied)).toThrow("which this build does not know");
});

// In the format of sha256sum: `cd drizzle/migrations && sha256sum -c hashes.txt` checks the same.
test("a committed migration is never edited (UPDATE_SNAPSHOT=1 adds the hashes of new ones)", () => {
  const list = path.join(defaultSchemaFolder(), "migrations/hashes.txt");
  const read = () => readFileSync(list, "utf8").split("\n").filter(Boolean);
  const known = read();
  const lines = readSchemaFiles().migrations.map(({ name, sha256 }) => `${sha256}  ${name}.sql`);
  const added = lines.slice(known.length);
  if (process.env.UPDATE_SNAPSHOT === "1" && added.length > 0)
    writeFileSync(list, `${[...known, ...added].join("\n")}\n`);
  expect(lines).toEqual(read());
});

test("each role has its own password, the same for the same secret", () => {
  expect(rolePassword("s", "web")).toBe(rolePassword("s", "web"));
  const all = [rolePassword("s", "web"), rolePassword("s", "worker"), rolePassword("t", "web")];
  expect(new Set(all).size).toBe(3);
});

test("a role's URL keeps host, port, database and options", () => {
  const url = new URL(roleUrl("postgres://admin:a%40b@db.internal:6432/app?sslmode=require", "s", "web"));
  expect(url.username).toBe("leasehold_web");
  expect(url.password).toBe(rolePassword("s", "web"));
  expect([url.host, url.pathname, url.search]).toEqual(["db.internal:6432", "/app", "?sslmode=require"]);
  const socket = new URL(roleUrl("postgres:///app?host=/run/postgresql", "s", "auth"));
  expect(socket.searchParams.get("user")).toBe("leasehold_auth");
  expect(socket.searchParams.get("host")).toBe("/run/postgresql");
});

test("the server receives passwords as SCRAM verifiers", () => {
  expect(scramVerifier("secret")).toMatch(/^SCRAM-SHA-256\$4096:[\w+/=]{24}\$[\w+/=]{44}:[\w+/=]{44}$/);
});
