import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const IMPURE = /\b(?:Date\.now|new Date\(\)|performance\.|Math\.random|setTimeout|randomUUID)/;
const folder = path.join(process.cwd(), "lib/queue");

test("policies take time and randomness as arguments", () => {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    /(?:^|\/)(?:states|error-classes|.*\.policy)\.ts$/.test(name),
  );
  expect(files.length).toBeGreaterThan(40);
  for (const name of files) expect(readFileSync(path.join(folder, name), "utf8"), name).not.toMatch(IMPURE);
  expect("const now = Date.now()").toMatch(IMPURE);
});
