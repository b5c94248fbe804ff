import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fullFormats } from "ajv-formats/dist/formats";
import ts from "typescript";
import { expect, test } from "vitest";
import { StreamRedactor } from "@/lib/execution/output/redactor";
import { secretForms } from "@/lib/execution/output/secret-forms";
import { compileArgSchema } from "@/lib/queue/policy/arg-schema";
import { expectLinear } from "./growth";

const ROOT = join(import.meta.dirname, "../..");
/** Where texts of tenants, commands, receivers and clients are read. */
const READERS =
  /^lib\/(?:execution\/(?:output|webhook|retry-after|unicode)|text\/|queue\/policy|contract\/scan|api\/(?:remote|input|filters|etag)|auth\/(?:api-key|cookies|safe)|client\/(?:terminal|hidden)|observability|db\/statement|web\/(?:check|client))/;

/** Functions of those files that read no text from outside, with what they read. */
const NOT_READ: Readonly<Record<string, string>> = {
  "lib/auth/cookies.ts": "our origin and ids of sessions; cookieValues reads a header, which the HTTP server bounds",
  "lib/db/statement.ts": "our own statements",
  "lib/queue/policy/retry-policy.ts": "an error class",
  "lib/queue/policy/plan-firing.ts": "our own words",
  "lib/queue/policy/schedule/calendar.ts": "an expression that was read already",
  "lib/queue/policy/schedule/due.ts": "a trigger's id",
  "lib/queue/policy/schedule/zone.ts": "the name of a time zone, which is looked up",
  "lib/queue/policy/schedule/read.ts": "the name of a time zone, which is looked up",
  "lib/execution/webhook/addresses.ts": "an address that was resolved",
  "lib/execution/webhook/resolve.ts": "a URL, by readTarget, and then the network",
  "lib/execution/output/spellings.ts": "a secret, once for each attempt",
  "lib/api/filters.ts": "a date that a schema has checked",
};

type Read = (first: unknown, ...more: unknown[]) => unknown;
const FORMS = secretForms(["abababababababab", "supersecretvalue", `${"a".repeat(40)}b`]);
/** Further arguments of a function, by its name. */
const ARGUMENTS: Readonly<Record<string, readonly unknown[]>> = {
  cleanResult: [FORMS],
  cleanMessage: [FORMS],
  redactText: [FORMS],
  redactLiterals: [FORMS],
  cutText: [1024],
  cutCharacters: [1024],
  cookieValues: ["a"],
  readTarget: [{}],
  parseCaptured: [() => {}],
  cleanAnswer: [() => {}],
  compileTriggerTemplate: ["event"],
  pathOnly: ["http://a"],
  scanJsonInTurns: [async () => {}],
};
/** Functions that read values: the text is one of an object. */
const OF_VALUES =
  /^(?:cleanResult|cleanAnswer|asExactJson|redactFields|canonicalJson|contentKey|checkPayload|isPlainJson|scanTemplate|compileTemplate|compileTriggerTemplate|compileArgSchema)$/;

const HEADS = ["", '"', '{{"', '{"a":', "-----BEGIN PRIVATE KEY-----", "https://"];
const BITS = [
  "a",
  " ",
  "\t",
  "\n",
  "\r\n",
  '"',
  "'",
  "\\",
  '\\"',
  "{",
  "{{",
  "}}",
  "[",
  "(",
  "-",
  ".",
  ",",
  ":",
  "=",
  "?",
  "*",
  "/",
  "%",
  "-----BEGIN PRIVATE KEY-----",
  "-eyJaaaaaa",
  "eyJ.",
  "password=",
  "token=a ",
  "Bearer ",
  "https://",
  "http://a:a",
  "a@",
  "://a:",
  "\u001b[",
  "\u001b]8;;",
  "\u001b[1",
  "1",
  "1e",
  "9007199254740993,",
  "\ud800",
  "\u{1f600}",
  "\u202e",
  "\u0000",
  "\ufffd",
  "    at a (b:1:1)\n",
  "Caused by: ",
  'File "a", line 1\n',
  "ghp_aaaaaaaa",
  "AKIAAAAAAAAAAAAA",
  "xoxb-",
  "whsec_",
  "lhk_a_",
  "abab",
  "supersecretvalu",
  "* ",
  "a-",
  "_",
  "--password ",
  "\\u0061",
  "&amp;",
  "| default: ",
  "${",
  "<a ",
];

const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "lib/*.ts"], {
  cwd: ROOT,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => READERS.test(file) && !/\.test\.ts$|fixture/.test(file));

/** The exported functions of a file whose first argument is a text, or any value. */
function readersIn(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(join(ROOT, file), "utf8"), ts.ScriptTarget.Latest, true);
  return source.statements.flatMap((statement) => {
    const isExported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (!isExported) return [];
    const functions = ts.isFunctionDeclaration(statement)
      ? [{ name: statement.name?.text ?? "", made: statement as ts.SignatureDeclaration }]
      : ts.isVariableStatement(statement)
        ? statement.declarationList.declarations.flatMap(({ name, initializer }) =>
            initializer && ts.isArrowFunction(initializer)
              ? [{ name: name.getText(source), made: initializer as ts.SignatureDeclaration }]
              : [],
          )
        : [];
    return functions.flatMap(({ name, made }) =>
      /^(?:string|unknown)\b/.test(made.parameters[0]?.type?.getText(source) ?? "") ? [name] : [],
    );
  });
}

const rows = files
  .filter((file) => !(file in NOT_READ))
  .flatMap((file) => readersIn(file).map((name) => ({ file, name })));

test("the table of what reads texts is whole", () => {
  expect(rows.length).toBeGreaterThan(40);
  expect(Object.keys(NOT_READ).filter((file) => readersIn(file).length === 0)).toEqual([]);
});

function hostile(name: string, read: (text: string) => unknown): void {
  for (const head of HEADS)
    for (const bit of BITS)
      for (const tail of head === "" ? ["", "!"] : ["!"])
        expectLinear(
          `${name} of ${JSON.stringify(head)} and ${JSON.stringify(bit)} again and again, then ${JSON.stringify(tail)}`,
          (size) => head + bit.repeat(Math.ceil(size / bit.length)) + tail,
          { read },
        );
}

test.each(rows)("$file: the cost of $name grows no faster than its input", async ({ file, name }) => {
  const read = ((await import(join(ROOT, file))) as Record<string, Read>)[name];
  if (!read) throw new Error(`${file} has no ${name}`);
  const more = ARGUMENTS[name] ?? [];
  const taken = OF_VALUES.test(name)
    ? (text: string) => read({ a: text, [text]: 1 }, ...more)
    : (text: string) => read(text, ...more);
  // A parser of JSON sees the text as JSON as well.
  const isOfJson = /json|scan|captured/i.test(name);
  hostile(name, isOfJson ? (text) => [silent(() => taken(text)), silent(() => taken(JSON.stringify(text)))] : taken);
});

function silent(run: () => unknown): void {
  try {
    const result = run();
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // A refusal.
  }
}

test("the cost of a stream of output grows no faster than the output, however it is cut", () => {
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

test.each(Object.keys(fullFormats).filter((name) => !/int|float|double|password|binary/.test(name)))(
  "the cost of the format %s of an argument schema grows no faster than its input, or is refused as too much",
  (format) => {
    const check = compileArgSchema({ properties: { a: { type: "string", format } } });
    hostile(`format ${format}`, (text) => check({ a: text }));
  },
);
