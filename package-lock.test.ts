import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Locked {
  readonly version?: string;
  readonly dev?: boolean;
}
const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: Record<string, Locked> };
const wanted = JSON.parse(readFileSync("package.json", "utf8")) as { dependencies: Record<string, string> };

/** The first version of each package without a vulnerability that affects this application. */
const FLOORS: Readonly<Record<string, string>> = {
  next: "16.4.1",
  react: "19.3.1",
  "react-dom": "19.3.1",
  "next-auth": "4.24.15",
  "@auth/core": "0.41.3",
  "drizzle-orm": "0.45.2",
  ajv: "8.18.0",
};

function isBelow(version: string, floor: string): boolean {
  const parts = (text: string) => (text.split("-")[0] ?? "").split(".").map(Number);
  const [have, need] = [parts(version), parts(floor)];
  const differing = need.findIndex((part, index) => part !== have[index]);
  return differing >= 0 && (have[differing] ?? 0) < (need[differing] ?? 0);
}

/** Every installed copy of a package that ships, wherever npm put it. */
const copiesOf = (name: string) =>
  Object.entries(lock.packages).filter(([place, { dev }]) => !dev && place.endsWith(`node_modules/${name}`));

test.each(Object.entries(FLOORS))("V-1 no copy of %s is older than %s", (name, floor) => {
  const old = copiesOf(name).filter(([, { version }]) => isBelow(version ?? "0", floor));
  expect(old.map(([place, { version }]) => `${place} ${version}`)).toEqual([]);
});

test("V-1 the packages with a minimum version are installed, so the check covers something", () => {
  for (const name of ["next", "react", "react-dom", "next-auth", "drizzle-orm", "ajv"])
    expect(copiesOf(name), name).not.toEqual([]);
});

test("V-1 the comparison detects an older version", () => {
  expect(isBelow("16.4.0", "16.4.1")).toBe(true);
  expect(isBelow("15.9.9", "16.4.1")).toBe(true);
  expect(isBelow("16.4.1", "16.4.1")).toBe(false);
  expect(isBelow("16.10.0", "16.4.1")).toBe(false);
});

test.each(["react", "react-dom", "next", "next-auth", "drizzle-orm", "pg"])("V-1 %s is pinned exactly", (name) => {
  expect(wanted.dependencies[name]).toMatch(/^\d+\.\d+\.\d+$/);
});

test("V-1 undici stays on the line that Node 20 supports", () => {
  for (const [place, { version }] of copiesOf("undici"))
    expect(Number(version?.split(".")[0]), place).toBeLessThanOrEqual(7);
});
