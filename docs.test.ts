import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createDefinitionBody } from "@/lib/contract";

const ROOT = import.meta.dirname;
const SKIPPED = new Set(["node_modules", "dist", ".git", ".next", ".next-test", ".leasehold", "test-results"]);

function filesIn(folder: string): string[] {
  return readdirSync(path.join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : filesIn(name);
    return entry.isFile() ? [name] : [];
  });
}

const read = (name: string): string => readFileSync(path.join(ROOT, name), "utf8");
const matches = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1] ?? "");
const sorted = (names: Iterable<string>): string[] => [...new Set(names)].sort();

const files = filesIn(".");
const documents = files.filter((name) => name.endsWith(".md"));
const exists = (name: string): boolean => existsSync(path.join(ROOT, name));

/** Code blocks hold links and paths of other places. */
const prose = (name: string): string => read(name).replace(/^( *)```[\s\S]*?^\1```/gm, "");

/** The anchors of a document's headings, as GitHub makes them. */
const anchors = (name: string): string[] =>
  matches(prose(name), /^#{1,6} +(.+)$/gm).map((heading) =>
    heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\- _]/gu, "")
      .replaceAll(" ", "-"),
  );

describe.each(documents)("%s", (name) => {
  test("every link leads somewhere", () => {
    const links = matches(prose(name), /\]\(([^)\s]+)\)/g).filter((link) => !/^[a-z]+:/.test(link));
    const broken = links.filter((link) => {
      const [file = "", anchor] = link.split("#");
      const target = file === "" ? name : path.join(path.dirname(name), file);
      if (!exists(target)) return true;
      return anchor !== undefined && !anchors(target).includes(decodeURIComponent(anchor));
    });
    expect(broken).toEqual([]);
  });

  test("every path of this repository that it names is there", () => {
    const folders = "app|components|lib|web|worker|scheduler|admin|jobs|drizzle|scripts|e2e|docs";
    const named = matches(prose(name), new RegExp(`\`((?:${folders})/[^\`\\s…*]*)\``, "g"));
    expect(named.filter((file) => !exists(file))).toEqual([]);
  });

  test("every npm script that it names is there", () => {
    const scripts = Object.keys(JSON.parse(read("package.json")).scripts);
    const named = [...matches(read(name), /npm run ([a-z:-]+)/g), ...matches(read(name), /npm (start|test)\b/g)];
    expect(named.filter((script) => !scripts.includes(script))).toEqual([]);
  });
});

/** The map of the code, and the pages that explain its mechanisms. */
const codeDocuments = ["ARCHITECTURE.md", ...documents.filter((name) => name.startsWith("docs/internals/"))];

test("every function that the architecture and the internals name is in the code", () => {
  const code = files
    .filter((name) => /^(app|lib|web|worker|scheduler|admin|scripts|jobs|drizzle)\/.*\.(ts|tsx|mjs|sql)$/.test(name))
    .map(read)
    .join("\n");
  const named = codeDocuments.flatMap((name) =>
    matches(prose(name), /`([a-z]+[A-Z][A-Za-z]*|app\.[a-z_]+)(?:\(\))?`/g),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(sorted(named).filter((word) => !new RegExp(`\\b${word.replace(".", "\\.")}\\b`).test(code))).toEqual([]);
});

/** Words as a reader counts them: text between spaces that has a letter or digit, outside of code blocks and drawings. */
const words = (name: string): number =>
  prose(name)
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

test.each([
  ["README.md", 1000],
  ["ARCHITECTURE.md", 2500],
])("%s has at most %d words", (name, most) => {
  expect(words(name)).toBeLessThanOrEqual(most);
});

test("docs/README.md lists every page of docs", () => {
  const linked = matches(prose("docs/README.md"), /\]\(([^)\s#]+)/g).map((link) => path.join("docs", link));
  const pages = documents.filter((name) => name.startsWith("docs/") && name !== "docs/README.md");
  expect(pages.filter((name) => !linked.includes(name))).toEqual([]);
});

test.each(["docs/guarantees.md", "docs/scheduling.md"])("every test that %s names is there", (document) => {
  const tests = files
    .filter((name) => name.endsWith(".test.ts"))
    .map(read)
    .join("\n");
  const named = matches(prose(document), /"([^"]{20,})"/g).map((name) => name.replace(/\s+/g, " "));
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((name) => !tests.includes(name))).toEqual([]);
});

describe("settings", () => {
  /** Variables that operators do not set. */
  const INTERNAL = new Set([
    "NEXTAUTH_URL",
    "NEXT_TELEMETRY_DISABLED",
    "NODE_ENV",
    "NODE_OPTIONS",
    "LEASEHOLD_TEST_BUILD",
    "LEASEHOLD_TEST_NO_TENANT_FILTER",
    "LEASEHOLD_TEST_NO_FENCE",
    "LEASEHOLD_TEST_NO_QUARANTINE",
    "LEASEHOLD_TEST_NO_ISOLATION",
    "LEASEHOLD_TEST_FAILPOINT",
  ]);
  const sources = files.filter((name) => /^(lib\/env|scripts)\/.*\.(ts|mjs)$/.test(name) && !name.includes(".test."));
  const used = sorted(
    sources
      .flatMap((name) => [
        ...matches(read(name), /\bprocess\.env\.([A-Z][A-Z0-9_]+)/g),
        ...(name.startsWith("lib/env/") ? matches(read(name), /^\s+([A-Z][A-Z0-9_]+): /gm) : []),
      ])
      .concat("SECRETS_FILE")
      .filter((name) => !INTERNAL.has(name)),
  );

  test("are found", () => {
    expect(used).toEqual(expect.arrayContaining(["DATABASE_URL", "DATABASE_WEB_URL", "LOG_LEVEL", "PORT", "PG_BIN"]));
  });

  test(".env.example has exactly those that are read", () => {
    expect(sorted(matches(read(".env.example"), /^#?([A-Z][A-Z0-9_]+)=/gm))).toEqual(used);
  });

  test("docs/operations.md explains exactly those that are read", () => {
    expect(sorted(matches(read("docs/operations.md"), /^\| `([A-Z][A-Z0-9_]+)` \|/gm))).toEqual(used);
  });
});

test("docs/definitions.md explains exactly the fields that a definition takes", () => {
  expect(sorted(matches(read("docs/definitions.md"), /^\| `([a-z_]+)` \|/gm))).toEqual(
    sorted(Object.keys(createDefinitionBody.shape)),
  );
});

test("docs/data.md has every function", () => {
  const actual = matches(read("drizzle/schema.snapshot.txt"), /^function (\w+)\(/gm);
  const written = matches(read("docs/data.md"), /^\| (`app\.\w+\(.*?) \|/gm).flatMap((cell) =>
    matches(cell, /`app\.(\w+)\(/g),
  );
  expect(sorted(written)).toEqual(sorted(actual));
});

test("where the architecture or the internals name a function with its file, that file creates it", () => {
  const named = codeDocuments.flatMap((name) => [
    ...prose(name).matchAll(/`app\.(\w+)`\s+\(`(drizzle\/[^`]+\.sql)`\)/g),
  ]);
  expect(named.length).toBeGreaterThan(2);
  for (const [, name, file] of named)
    expect(read(file ?? ""), name).toMatch(
      new RegExp(`^create (?:or replace )?(?:function|procedure) app\\.${name}\\b`, "m"),
    );
});

test("docs/data.md has every table, each with the policies that it has", () => {
  const schema = read("drizzle/schema.snapshot.txt").split("\n\n");
  const actual = new Map(
    schema.flatMap((part) => {
      const table = /^(?:unlogged )?table app\.(\w+)(?! default partition)/.exec(part)?.[1];
      return table && !/^.* default partition/.test(part)
        ? [[table, sorted(matches(part, /^ {2}policy (?!owner_migrates\b)(\w+)/gm))]] // every forced table has that one
        : [];
    }),
  );
  const written = new Map(
    matches(read("docs/data.md"), /^(\| `[a-z_]+`.*)$/gm).flatMap((row) => {
      const [, tables = "", , policies = ""] = row.split("|");
      return matches(tables, /`([a-z_]+)`/g).map(
        (table) => [table, sorted(matches(policies, /`([a-z_]+)`/g))] as const,
      );
    }),
  );
  expect(Object.fromEntries(written)).toEqual(Object.fromEntries(actual));
});
