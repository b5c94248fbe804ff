import { join } from "node:path";
import { fullFormats } from "ajv-formats/dist/formats";
import { expect, test } from "vitest";
import { errorMessage } from "@/lib/execution/output/error-lines";
import { StreamRedactor } from "@/lib/execution/output/redactor";
import { secretForms } from "@/lib/execution/output/secret-forms";
import { compileArgSchema } from "@/lib/queue/definitions/arg-schema.policy";
import { expectLinear, hostile } from "./growth";
import { functionsIn, REPOSITORY, readerFiles } from "./readers";

/** Functions of those files that read no outside text, with what they read. */
const NOT_READ: Readonly<Record<string, string>> = {
  "lib/auth/cookies.ts": "our origin and ids of sessions; cookieValues reads a header, which the HTTP server bounds",
  "lib/db/statement.ts": "our own statements",
  "lib/queue/retry/retry-levels.policy.ts": "an error class",
  "lib/queue/schedules/plan-firing.policy.ts": "our own words",
  "lib/queue/schedules/rules/calendar.policy.ts": "an expression that was read already",
  "lib/queue/schedules/rules/due.policy.ts": "a trigger's id",
  "lib/queue/schedules/rules/zone.policy.ts": "the name of a time zone, which is looked up",
  "lib/queue/schedules/rules/read.policy.ts": "the name of a time zone, which is looked up",
  "lib/webhooks/delivery/addresses.ts": "an address that was resolved",
  "lib/webhooks/delivery/resolve.ts": "a URL, by readTarget, and then the network",
  "lib/execution/output/spellings.ts": "a secret, once for each attempt",
  "lib/api/resources/filters.ts": "a date that a schema has checked",
};

type Read = (first: unknown, ...more: unknown[]) => unknown;
const FORMS = secretForms(["abababababababab", "supersecretvalue", `${"a".repeat(40)}b`]);
/** Further arguments of a function, by its name. */
const ARGUMENTS: Readonly<Record<string, readonly unknown[]>> = {
  cleanResult: [FORMS],
  cleanMessage: [FORMS],
  redactText: [FORMS],
  redactLiterals: [FORMS],
  cutLength: ["abababababababab", FORMS],
  cutText: [1024],
  cutCharacters: [1024],
  cookieValues: ["a"],
  readTarget: [{}],
  parseCaptured: [() => {}],
  cleanAnswer: [() => {}],
  compileTriggerTemplate: ["event"],
  pathOnly: ["http://a"],
  scanJsonInTurns: [async () => {}],
  reportRepeatedKeys: [() => {}, async () => {}],
  parseCapturedInTurns: [() => {}, async () => {}],
};
/** Functions that read values: the text is one value of an object. */
const OF_VALUES =
  /^(?:cleanResult|cleanAnswer|asExactJson|redactFields|canonicalJson|contentKey|checkPayload|isPlainJson|scanTemplate|compileTemplate|compileTriggerTemplate|compileArgSchema)$/;

/** Returns the exported functions of a file whose first argument is a text, or any value. */
const readersIn = (file: string): string[] =>
  functionsIn(file)
    .filter(({ parameters: [first = ""] }) => /^(?:string|unknown)\b/.test(first))
    .map(({ name }) => name);

const rows = readerFiles()
  .filter((file) => !(file in NOT_READ))
  .flatMap((file) => readersIn(file).map((name) => ({ file, name })));

test("the table of functions that read texts is complete", () => {
  expect(rows.length).toBeGreaterThan(40);
  expect(Object.keys(NOT_READ).filter((file) => readersIn(file).length === 0)).toEqual([]);
});

test.each(rows)("$file: the cost of $name grows no faster than its input", async ({ file, name }) => {
  const read = ((await import(join(REPOSITORY, file))) as Record<string, Read>)[name];
  if (!read) throw new Error(`${file} has no ${name}`);
  const more = ARGUMENTS[name] ?? [];
  const taken = OF_VALUES.test(name)
    ? (text: string) => read({ a: text, [text]: 1 }, ...more)
    : (text: string) => read(text, ...more);
  // A JSON parser gets the text as JSON as well.
  const isOfJson = /json|scan|captured|repeatedKeys/i.test(name);
  hostile(name, isOfJson ? (text) => [silent(() => taken(text)), silent(() => taken(JSON.stringify(text)))] : taken);
});

function silent(run: () => unknown): void {
  try {
    const result = run();
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // A refusal also counts as read.
  }
}

test("the cost of a stream of output grows no faster than the output, however it is split", () => {
  const read = (text: string) => {
    const redactor = new StreamRedactor(FORMS);
    for (let at = 0; at < text.length; at += 16_384) redactor.push(text.slice(at, at + 16_384));
    redactor.flush();
  };
  for (const bit of [
    "abab",
    "a",
    "-----BEGIN PRIVATE KEY-----",
    "-eyJaaaaaa",
    "supersecretvalu",
    "ghp_aaaaaaaa",
    "a\n",
  ])
    expectLinear(`StreamRedactor of ${bit}`, (size) => bit.repeat(size / bit.length), { read, largest: 1024 * 1024 });
});

/** A line that opens each kind of crash; none of them is followed by what ends such a crash. */
const OPENINGS = {
  "Python's": "Traceback (most recent call last):",
  "a Python file": '  File "a", line 1',
  "Python's group": "  + Exception Group Traceback",
  "Ruby's": "a.rb:1:in 'f': a (A)",
  "Ruby's syntax error": "a.rb:1: syntax error, x",
  "Go's": "panic: a",
  "Rust's": "thread 'a' panicked at a",
  "V8's": "FATAL ERROR: ",
  "Node's": "/a:1",
  "Java's": 'Exception in thread "a" a',
  "a frame's": "    at a (b:1:1)",
  "a frame with properties": "    at a (b:1:1) {",
  "a cause's": "Caused by: ",
  "PHP's": "Stack trace:\n\nNext a",
};
const BELOW = ["", "\n", " x\n", "x\n", "  | Traceback\n", "   ^\n", "\tfrom a.rb:1:in 'f'\n", "\n\n\n"];

test.each(Object.entries(OPENINGS))(
  "the cost of many openings of a crash, %s, grows no faster than their number",
  (name, opening) => {
    for (const below of BELOW) {
      const crash = `${opening}\n${below}`;
      const shapes = {
        "again and again": (size: number) => crash.repeat(size / crash.length),
        "again and again, then what is below it": (size: number) =>
          `${opening}\n`.repeat(size / 2 / (opening.length + 1)) + below.repeat(size / 2 / Math.max(1, below.length)),
      };
      for (const [shape, make] of Object.entries(shapes))
        expectLinear(`${name} opening with ${JSON.stringify(below)} ${shape}`, make, {
          read: errorMessage,
          largest: 128 * 1024,
        });
    }
  },
);

test.each(Object.keys(fullFormats).filter((name) => !/int|float|double|password|binary/.test(name)))(
  "the cost of the format %s of an argument schema grows no faster than its input, or is refused",
  (format) => {
    const check = compileArgSchema({ properties: { a: { type: "string", format } } });
    hostile(`format ${format}`, (text) => check({ a: text }));
  },
);
