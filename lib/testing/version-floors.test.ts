import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Versions below these have a known, fixed vulnerability. */
const FLOORS: Record<string, string> = {
  next: "16.4.1",
  react: "19.3.1",
  "react-dom": "19.3.1",
  "next-auth": "4.24.15",
  "@auth/core": "0.41.3",
  "drizzle-orm": "0.45.2",
  ajv: "8.18.0",
};
const PINNED = ["react", "next", "next-auth", "drizzle-orm", "pg"];
const UNDICI_MAJOR = 7;

const lock: { packages: Record<string, { version?: string; name?: string }> } = JSON.parse(
  readFileSync("package-lock.json", "utf8"),
);
const { dependencies }: { dependencies: Record<string, string> } = JSON.parse(readFileSync("package.json", "utf8"));

function installed(name: string): string[] {
  const at = new RegExp(`(^|/)node_modules/${name}$`);
  return Object.entries(lock.packages).flatMap(([path, { version }]) => (at.test(path) && version ? [version] : []));
}

function isAtLeast(version: string, floor: string): boolean {
  const [left, right] = [version, floor].map((text) => text.split(/[.-]/).slice(0, 3).map(Number));
  for (const [index, least] of (right ?? []).entries()) {
    const found = left?.[index] ?? 0;
    if (found !== least) return found > least;
  }
  return true;
}

test.each(Object.entries(FLOORS))("V-1 every copy of %s in the lock file is at least %s", (name, floor) => {
  const versions = installed(name);
  if (name in dependencies) expect(versions).not.toEqual([]);
  for (const version of versions) expect(isAtLeast(version, floor), `${name} ${version}`).toBe(true);
});

test("V-1 undici, if present, is of the line that this Node supports", () => {
  for (const version of installed("undici")) expect(Number(version.split(".")[0])).toBeLessThanOrEqual(UNDICI_MAJOR);
});

test.each(PINNED)("V-1 %s is pinned to one version", (name) => {
  expect(dependencies[name]).toMatch(/^\d+\.\d+\.\d+$/);
});

test("V-1 the comparison orders versions correctly", () => {
  expect(isAtLeast("16.4.0", "16.4.1")).toBe(false);
  expect(isAtLeast("16.10.0", "16.4.1")).toBe(true);
  expect(isAtLeast("4.24.15", "4.24.15")).toBe(true);
  expect(isAtLeast("8.9.9", "8.18.0")).toBe(false);
});
