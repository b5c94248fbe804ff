import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { ADVISORY_LOCKS } from "./advisory-locks";

const FOLDERS = [
  "admin",
  "app",
  "components",
  "docker",
  "drizzle",
  "jobs",
  "lib",
  "scheduler",
  "scripts",
  "web",
  "worker",
];
const SOURCE = /\.(?:ts|tsx|mjs|sql|sh)$/;
const TEST = /\.(?:test|fixture)\.tsx?$|(?:^|\/)lib\/testing\//;

const sources = FOLDERS.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => path.join(folder, file)),
).filter((file) => SOURCE.test(file) && !TEST.test(file));

/** The arguments of each advisory lock in the product's source. */
const locks = sources.flatMap((file) =>
  [...readFileSync(file, "utf8").matchAll(/advisory(?:_xact)?_lock(?:_shared)?\((.*)/g)].map(([, rest = ""]) => rest),
);

test("every advisory lock is one of the list", () => {
  const listed = Object.entries(ADVISORY_LOCKS).flatMap(([name, text]) => [`\${ADVISORY_LOCKS.${name}})`, `${text})`]);
  expect(locks.filter((rest) => !listed.some((one) => rest.startsWith(one)))).toEqual([]);
  expect(locks.length).toBeGreaterThanOrEqual(Object.keys(ADVISORY_LOCKS).length);
});

test("a lock with a value in it has a class of its own, and the other locks are fixed texts", () => {
  const classes = Object.values(ADVISORY_LOCKS).flatMap(
    (text) => /^([1-9]), (?:hashtext\(\$1::text\)|\$1::integer)$/.exec(text)?.[1] ?? [],
  );
  const fixed = Object.values(ADVISORY_LOCKS).filter((text) =>
    /^hashtextextended\('leasehold\.[a-z]+', 0\)$/.test(text),
  );
  expect(classes.length + fixed.length).toBe(Object.keys(ADVISORY_LOCKS).length);
  expect([new Set(classes).size, new Set(fixed).size]).toEqual([classes.length, fixed.length]);
});
