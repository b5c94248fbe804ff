import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readMigrations } from "./files";
import { pendingMigrations } from "./ledger";
import { rolePassword, roleUrl } from "./role-logins.mjs";
import { scramVerifier } from "./scram-verifier";

const file = (name: string, sha256 = `hash of ${name}`) => ({ name, sha256, sql: "" });
const files = [file("0001_a"), file("0002_b"), file("0003_c")];

function folderWith(contents: Record<string, string>): string {
  const folder = mkdtempSync(path.join(tmpdir(), "leasehold-migrations-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(contents)) writeFileSync(path.join(folder, name), text);
  return folder;
}

test("what is not in the ledger is pending, in order", () => {
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

test("migration files are numbered without gaps, and line ends do not change them", () => {
  const [one] = readMigrations(folderWith({ "0001_a.sql": "select 1;\n", "README.md": "" }));
  const [two] = readMigrations(folderWith({ "0001_a.sql": "select 1;\r\n" }));
  expect(one?.sha256).toBe(two?.sha256);
  expect(() => readMigrations(folderWith({ "0001_a.sql": "", "0003_b.sql": "" }))).toThrow("should have number 2");
  expect(() => readMigrations(folderWith({ "0001_a.sql": "", "0001_b.sql": "" }))).toThrow("should have number 2");
  expect(() => readMigrations("/nowhere")).toThrow("cannot be read");
});

test("each role has a password of its own, the same one for the same secret", () => {
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

test("what the server gets to see of a password is a SCRAM verifier", () => {
  expect(scramVerifier("secret")).toMatch(/^SCRAM-SHA-256\$4096:[\w+/=]{24}\$[\w+/=]{44}:[\w+/=]{44}$/);
});
