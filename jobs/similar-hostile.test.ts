import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandRegistry, executeHandler, openInside } from "@/lib/execution";
import {
  makeTestFolder,
  memorySteps,
  noEvents,
  registryOf,
  type TestFolder,
  testContext,
} from "@/lib/execution/test-support";
import { handlers } from "./index";

let folder: TestFolder;
let registry: CommandRegistry;
let data = "";
beforeAll(async () => {
  folder = await makeTestFolder();
  data = join(folder.root, "data");
  mkdirSync(data);
  registry = await registryOf(folder, {});
});
afterAll(() => folder.remove());

/** Runs find-similar on a file of the folder, as one attempt of a job. `meanwhile` runs once the file is open. */
async function findSimilar(path: string, column = "a", meanwhile: (real: string) => unknown = () => undefined) {
  const handler = handlers.get("find-similar");
  if (!handler) throw new Error("find-similar is missing");
  const { ctx } = testContext({
    payload: { provider_id: "0190a000-0000-7000-8000-00000000000a", path, column },
    openProviderPath: async (_id, relative) => {
      const opened = await openInside({ root: data, relative, allowedRoots: [folder.root] });
      await meanwhile(opened.path);
      return opened;
    },
  });
  const transaction = () => Promise.reject(new Error("no database here"));
  const run = { ...ctx, registry, transaction, publishEvent: noEvents, steps: memorySteps().steps };
  return (await executeHandler(handler, run)).outcome;
}

const text = (...lines: string[]) => Buffer.from(lines.map((line) => `${line}\n`).join(""));
const similar = (lines: number[], values: string[], distance = 1) => [{ lines, values, distance }];
const LONG = "x".repeat(10 * 1024 * 1024);

const READ: readonly (readonly [what: string, file: Buffer, expected: object, column?: string])[] = [
  ["a header alone", text("a,b"), { rows: 0, rejected: 0, distinct: 0, pairs: 0, similar: [] }],
  ["one row", text("a", "x"), { rows: 1, distinct: 1, pairs: 0 }],
  ["empty values", text("a,b", ",1", " ,2", "x,3"), { rows: 3, distinct: 1, pairs: 0 }],
  ["equal rows", text("a", "same", "same", "Same ", "same"), { rows: 4, distinct: 1, pairs: 0 }],
  ["fields of 10 MB", text("a,b", `x,${LONG}`, `y${LONG},1`), { rows: 2, rejected: 0, distinct: 2, pairs: 0 }],
  [
    "a NUL",
    text("a,b", "x\0,1", "x,1", "y,1"),
    { rows: 2, rejected: 1, pairs: 1, similar: similar([3, 4], ["x", "y"]) },
  ],
  ["bytes that are not UTF-8", Buffer.from("a\nm\xfcller\nmuller\n", "latin1"), { rows: 1, rejected: 1, pairs: 0 }],
  [
    "UTF-16",
    Buffer.from("\ufeffa\nm\u00fcller\nmuller\n", "utf16le"),
    { rows: 2, pairs: 1, similar: similar([2, 3], ["m\u00fcller", "muller"]) },
  ],
  [
    "ragged rows",
    text("a,b", "x,1", "y", "z,1,2", "w,1"),
    { rows: 2, rejected: 2, pairs: 1, similar: similar([2, 5], ["x", "w"]) },
  ],
  [
    "what only looks like numbers",
    text("a", "1e400", "1e401", "Infinity", "NaN", "-0", "0.1000000000000000055511151231257827", "0.1"),
    { rows: 7, distinct: 7, pairs: 1, similar: expect.arrayContaining(similar([2, 3], ["1e400", "1e401"])) },
  ],
  [
    "a column __proto__",
    text("__proto__,a", "x1,1", "x2,1"),
    { rows: 2, pairs: 1, similar: similar([2, 3], ["x1", "x2"]) },
    "__proto__",
  ],
  ["NFC and NFD", text("a", "\u00e9t\u00e9", "e\u0301te\u0301"), { rows: 2, distinct: 1, pairs: 0 }],
];
const read = READ.map(([what, file, expected, column]) => ({ what, file, expected, column }));
test.each(read)("find-similar reads $what exactly", async ({ file, expected, column }) => {
  writeFileSync(join(data, "file.csv"), file);
  expect(await findSimilar("file.csv", column)).toMatchObject({ kind: "succeeded", result: expected });
});

const FAILS: readonly (readonly [what: string, file: Buffer, message: RegExp, column?: string])[] = [
  ["an empty file", text(), /the file is empty/],
  ["lines without columns", text("", ""), /the file is empty/],
  ["another column", text("b", "x"), /the file has no column "a"/],
  ["a name of every object", text("a", "x"), /the file has no column "constructor"/, "constructor"],
  ["100,000 columns", text(`${"c,".repeat(99_999)}c`, "1"), /more than 1600 columns/],
  ["an open quote", text("a", '"x', "y"), /line 2 cannot be read: a quoted field is not closed/],
  [
    "200,001 values",
    text("a", Array.from({ length: 200_001 }, (_, at) => `value ${at}`).join("\n")),
    /more than 200000 different values/,
  ],
  [
    "24,500 values of 500 characters",
    text("a", Array.from({ length: 24_500 }, (_, at) => `${at} ${"x".repeat(494)}`).join("\n")),
    /more than 12000000 characters/,
  ],
];
const fails = FAILS.map(([what, file, message, column]) => ({ what, file, message, column }));
test.each(fails)("find-similar fails permanently at $what, with the reason", async ({ file, message, column }) => {
  writeFileSync(join(data, "file.csv"), file);
  expect(await findSimilar("file.csv", column)).toEqual({
    ...{ kind: "failed", errorType: "invalid_input", retryable: false },
    message: expect.stringMatching(message),
  });
});

const put = (real: string) => writeFileSync(real, "a\nx\n");
const PLACES: readonly (readonly [what: string, make: (real: string) => unknown, errorType: string])[] = [
  ["no file", () => undefined, "not_found"],
  ["a folder", (real) => mkdirSync(real), "invalid_input"],
  ["a FIFO", (real) => execFileSync("mkfifo", [real]), "invalid_input"],
  [
    "a socket",
    (real) => new Promise<void>((resolve) => void createServer().unref().listen(real, resolve)),
    "invalid_input",
  ],
  ["a link out of the folder", (real) => symlinkSync("/etc/passwd", real), "invalid_input"],
  ["a link to itself", (real) => symlinkSync(real, real), "invalid_input"],
];
test.each(PLACES)(
  "find-similar fails at %s in place of the file, without the path in the message",
  async (...[, make, errorType]) => {
    const real = join(data, "place.csv");
    rmSync(real, { recursive: true, force: true });
    await make(real);
    const outcome = await findSimilar("place.csv");
    expect(outcome).toMatchObject({ kind: "failed", errorType });
    expect(JSON.stringify(outcome)).not.toContain(folder.root);
  },
);

test.each(PLACES)("find-similar reads the opened file when %s replaces it", async (...[, make]) => {
  const real = join(data, "opened.csv");
  rmSync(real, { recursive: true, force: true });
  put(real);
  const replace = async () => {
    rmSync(real);
    await make(real);
  };
  expect(await findSimilar("opened.csv", "a", replace)).toMatchObject({ kind: "succeeded", result: { rows: 1 } });
});

test("find-similar keeps its counts for values of any length", async () => {
  const rows = Array.from({ length: 60 }, (_, at) => `${String.fromCodePoint(0x4e00 + at)}${"\u5b57".repeat(499)}`);
  writeFileSync(join(data, "file.csv"), text("a", ...rows));
  const outcome = await findSimilar("file.csv");
  expect(outcome).toMatchObject({ kind: "succeeded", result: { rows: 60, distinct: 60, pairs: (60 * 59) / 2 } });
});
