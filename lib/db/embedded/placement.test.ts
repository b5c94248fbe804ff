import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { dataDir } from "./placement.mjs";

const isRoot = process.getuid?.() === 0;

describe.runIf(isRoot)("the folder of the embedded PostgreSQL under root", () => {
  let base = "";
  let home = "";
  const moved: string[] = [];

  beforeEach(() => {
    base = mkdtempSync(path.join(tmpdir(), "leasehold-placement-")); // mode 0700: only root can enter
    home = path.join(base, "home");
  });
  afterEach(() => {
    for (const folder of [base, ...moved.splice(0)]) rmSync(folder, { recursive: true, force: true });
  });

  const fill = (dir: string) => {
    mkdirSync(path.join(dir, "pg"), { recursive: true });
    writeFileSync(path.join(dir, "pg", "PG_VERSION"), "18\n");
  };

  test("stays where its data is when its user can enter the home folder later", () => {
    const away = dataDir(home);
    moved.push(away);
    expect(away).toMatch(/^\/var\/lib\/leasehold\//);
    fill(away);
    chmodSync(base, 0o755);
    expect(dataDir(home)).toBe(away);
  });

  test("is refused, and not replaced by an empty one, when its user can no longer enter it", () => {
    chmodSync(base, 0o755);
    expect(dataDir(home)).toBe(home);
    fill(home);
    chmodSync(base, 0o700);
    expect(() => dataDir(home)).toThrow(/cannot enter/);
  });
});
