import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { tightenCommands } from "./tighten.mjs";

const folder = mkdtempSync(path.join(tmpdir(), "leasehold-tighten-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("CM-1 commands of a clone made with umask 002 are closed to group and others before a worker reads them", () => {
  mkdirSync(path.join(folder, "scripts/lib"), { recursive: true });
  const files = ["commands.json", "scripts/a.mjs", "scripts/lib/b.mjs"].map((name) => path.join(folder, name));
  for (const file of files) {
    writeFileSync(file, "");
    chmodSync(file, 0o775);
  }
  tightenCommands(folder);
  for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o755);
});
