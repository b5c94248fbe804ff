import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fullFormats } from "ajv-formats/dist/formats";
import { expect, test, vi } from "vitest";
import { patternsIn, superLinear } from "./patterns";

// Deciding about all patterns takes a second alone, and minutes beside other tests.
vi.setConfig({ testTimeout: 300_000 });

const ROOT = join(import.meta.dirname, "../../..");
const SOURCES = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard", "*.ts", "*.tsx", "*.mjs"],
  {
    cwd: ROOT,
    encoding: "utf8",
  },
)
  .split("\n")
  .filter((file) => file !== "" && !/\.test\.tsx?$|fixture|^(?:e2e|bench|scripts)\/|^lib\/testing\//.test(file));

/** Patterns that may take longer, by file, with the reason why no input makes them. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "components/ui/json-view.tsx":
    "reads what JSON.stringify made, in which every text ends, and not more than 100,000 characters",
};

/** Files that build a pattern within a function, with the reason why it is linear. */
const MADE_IN_FUNCTIONS: Readonly<Record<string, string>> = {
  "lib/execution/output/patterns.ts": "copies of literals, which are checked",
  "lib/execution/output/spellings.ts": "a fixed number of any characters",
  "lib/api/routes.ts": "made from the paths of routes, recorded below",
  "web/front/open-pages.ts": "made from the paths of pages, recorded below",
};

const found = SOURCES.map((file) => ({ file, ...patternsIn(readFileSync(join(ROOT, file), "utf8"), file) }));

test("every regular expression of the sources takes linear time", async () => {
  expect(found.flatMap(({ literals }) => literals).length).toBeGreaterThan(200);
  const slow: string[] = [];
  for (const { file, literals } of found.filter((one) => !(one.file in EXCEPTIONS))) {
    for (const literal of literals) {
      const why = await superLinear(literal);
      if (why !== null) slow.push(`${file}:${literal.line} /${literal.source}/: ${why}`);
    }
  }
  expect(slow).toEqual([]);
});

test("every regular expression that is assembled at run time takes linear time", async () => {
  const makers = found.filter(({ made }) => made.length > 0);
  const inFunctions = makers
    .filter(({ made }) => made.some(({ isInFunction }) => isInFunction))
    .map(({ file }) => file);
  expect(inFunctions.filter((file) => !(file in MADE_IN_FUNCTIONS))).toEqual([]);
  expect(Object.keys(MADE_IN_FUNCTIONS).filter((file) => !inFunctions.includes(file))).toEqual([]);
  const recorded: RegExp[] = [];
  const Native = RegExp;
  globalThis.RegExp = new Proxy(Native, {
    construct(target, args, newTarget) {
      const made = Reflect.construct(target, args, newTarget) as RegExp;
      // Packages loaded at the same time build patterns of their own.
      const caller = new Error().stack?.split("\n")[2] ?? "";
      if (makers.some(({ file }) => caller.includes(`/${file}:`))) recorded.push(made);
      return made;
    },
  });
  try {
    for (const { file } of makers) await import(join(ROOT, file));
  } finally {
    globalThis.RegExp = Native;
  }
  const own = new Map(recorded.map((pattern) => [String(pattern), pattern]));
  expect(own.size).toBeGreaterThan(20);
  const slow: string[] = [];
  for (const pattern of own.values()) if ((await superLinear(pattern)) !== null) slow.push(String(pattern));
  expect(slow).toEqual([]);
});

// The pattern is too large to be decided; lib/testing/measure/growth.test.ts feeds it.
test("every format of argument schemas takes linear time, except url, whose work is counted", async () => {
  const slow: string[] = [];
  for (const [name, format] of Object.entries(fullFormats)) {
    const pattern = format instanceof RegExp ? format : (format as { validate?: unknown }).validate;
    if (pattern instanceof RegExp && name !== "uri-reference" && (await superLinear(pattern)) !== null) slow.push(name);
  }
  expect(slow).toEqual(["url"]);
});

test.each([
  ["nested", "^(a+)+$"],
  ["overlapping", "^\\d+(?:\\.\\d+)?.*!$"],
  ["alternatives that overlap", "^(?:a|ab|b)*!$"],
  ["restarts at each quote", '"(?:[^"\\\\]|\\\\.)*"'],
  ["restarts at each blank", "\\s+$"],
  ["restarts at each token", "-eyJ[A-Za-z0-9_-]*\\.[A-Za-z0-9_-]*\\."],
])("finds a pattern that is not linear: %s", async (_name, source) => {
  expect(await superLinear({ source, flags: "" })).toMatch(/polynomial|exponential/);
});
