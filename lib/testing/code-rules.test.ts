import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const FOLDERS = ["app", "components", "drizzle/schema", "e2e", "jobs", "lib", "scheduler", "scripts", "worker"];
const MOST_LINES = 300;

const isTest = (name: string): boolean => /\.(test|fixture)\.tsx?$/.test(name) || /^(e2e|lib\/testing)\//.test(name);

const sources = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(tsx?|mjs)$/.test(name))
    .map((name) => `${folder}/${name}`),
).map((name) => ({ name, text: readFileSync(join(ROOT, name), "utf8") }));

/** Lines of the files that `where` selects, as far as `pattern` finds something in them. */
function found(pattern: RegExp, where: (name: string) => boolean): string[] {
  return sources
    .filter(({ name }) => where(name))
    .flatMap(({ name, text }) =>
      text.split("\n").flatMap((line, index) => (pattern.test(line) ? [`${name}:${index + 1}: ${line.trim()}`] : [])),
    );
}

test("the sources are seen", () => {
  expect(sources.length).toBeGreaterThan(200);
});

test("no file is longer than can be read in one go", () => {
  const long = sources.filter(({ text }) => text.split("\n").length > MOST_LINES + 1);
  expect(long.map(({ name, text }) => `${name}: ${text.split("\n").length}`)).toEqual([]);
});

test("the environment is read in lib/env and in scripts", () => {
  const pattern = /\bprocess\.env\b/;
  const mayRead = (name: string) => /^(lib\/env|scripts)\//.test(name);
  expect(found(pattern, mayRead)).not.toEqual([]);
  expect(found(pattern, (name) => !isTest(name) && !mayRead(name))).toEqual([]);
});

test("policies have no clock and no chance of their own", () => {
  const pattern =
    /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bperformance\b|\bset(Timeout|Interval)\b|\brandomUUID\b/;
  expect(found(pattern, (name) => name.startsWith("worker/"))).not.toEqual([]);
  expect(found(pattern, (name) => name.startsWith("lib/queue/policy/") && !isTest(name))).toEqual([]);
});

describe("nothing is silenced", () => {
  test.each([
    ["@ts-ignore, @ts-nocheck, @ts-expect-error", /@ts-(ignore|nocheck|expect-error)/],
    ["tests that are left out", /\b(test|describe|it)\.(only|todo)\(/],
    ["things left to do", /\b(TODO|FIXME|XXX|HACK)\b/],
  ])("%s", (_, pattern) => {
    expect(found(pattern, (name) => name !== "lib/testing/code-rules.test.ts")).toEqual([]);
  });
});
