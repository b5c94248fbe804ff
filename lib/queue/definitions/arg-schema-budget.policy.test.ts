import { spawnSync } from "node:child_process";
import { fullFormats } from "ajv-formats/dist/formats";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { bounded, named, times } from "./arg-schema.fixture";
import { compileArgSchema } from "./arg-schema.policy";

const branches = (keyword: string, levels: number, width: number): object => ({
  $ref: "#/$defs/l0",
  $defs: {
    ...Object.fromEntries(
      times(levels, (level) => [`l${level}`, { [keyword]: times(width, () => ({ $ref: `#/$defs/l${level + 1}` })) }]),
    ),
    [`l${levels}`]: { type: "string", minLength: 20 },
  },
});
const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
const TREE = {
  anyOf: [
    { type: "array", items: { $ref: "#" } },
    { type: "array", items: { $ref: "#" }, maxItems: 5 },
    { type: "array", contains: { $ref: "#" } },
    { type: "object", additionalProperties: { $ref: "#" } },
    { type: "string" },
  ],
};
const LETTERS = "a".repeat(200_000);

test.each<[string, object, unknown]>([
  ["alternatives of alternatives", branches("anyOf", 8, 8), "x"],
  ["exclusive alternatives", branches("oneOf", 8, 8), "x"],
  ["conjunctions", branches("allOf", 8, 8), "x".repeat(30)],
  [
    "negations of alternatives",
    { ...branches("anyOf", 8, 8), not: { $ref: "#/$defs/l0" }, $ref: "#/$defs/l8" },
    "x".repeat(30),
  ],
  ["a schema that contains itself in alternatives", TREE, nested(30)],
  [
    "contains within contains",
    { $ref: "#/$defs/c", $defs: { c: { anyOf: times(6, () => ({ contains: { $ref: "#/$defs/c" } })) } } },
    nested(30),
  ],
  ["a large pattern on a long text", { pattern: "^(?:a|ab|abc|b|bc|c|.){300}$" }, LETTERS],
  [
    "a large pattern on many keys",
    { patternProperties: { "(?:a|ab|abc|b|bc|c|.){300}$": true } },
    Object.fromEntries(times(5000, (index) => [`${index}${"a".repeat(30)}`, 1])),
  ],
  ["format url", { format: "url" }, `http://${LETTERS}`],
  [
    "many texts of format url",
    { items: { anyOf: [{ format: "url" }, { type: "string" }] } },
    times(100, () => `http://${"a".repeat(2000)}`),
  ],
  [
    "a long choice for each of many items",
    { items: { enum: times(3000, (index) => [index]) } },
    times(4900, () => [2999]),
  ],
  [
    "many alternatives for each of many items",
    { items: { anyOf: [...times(700, () => ({ type: "string" })), { type: "number" }] } },
    times(9000, () => 1),
  ],
  [
    "equal items of long texts, many times",
    { allOf: times(300, () => ({ uniqueItems: true })) },
    times(20, (index) => `${index}${"\u0001".repeat(2000)}`),
  ],
  [
    "equal items of many values, many times",
    { allOf: times(300, () => ({ uniqueItems: true })) },
    times(1600, (index) => ({ a: index, b: [index], c: { d: index } })),
  ],
  [
    "keys that were looked at, many times",
    {
      allOf: times(100, () => ({
        unevaluatedProperties: true,
        anyOf: [{ properties: { a: true } }, { properties: { b: true } }],
      })),
    },
    named(9900, () => 1),
  ],
  ["keys, many times", { allOf: times(300, () => ({ maxProperties: 1e6 })) }, named(9900, () => 1)],
  [
    "names of keys, many times",
    { allOf: times(200, () => ({ propertyNames: { minLength: 1 } })) },
    named(9900, () => 1),
  ],
  [
    "dynamic references for each of many items",
    {
      items: { anyOf: [...times(100, () => ({ $dynamicRef: "#m" })), true] },
      $defs: { a: { $dynamicAnchor: "m", minimum: 5 } },
    },
    times(9900, () => 1),
  ],
  [
    "dynamic references",
    { $dynamicAnchor: "m", anyOf: times(8, () => ({ items: { $dynamicRef: "#m" } })), minItems: 1 },
    nested(30),
  ],
])("a payload that would take too long to check is refused with its pointer: %s", (name, schema, payload) => {
  const check = bounded(name, () => compileArgSchema(schema));
  const problems = bounded(name, () => check(payload));
  expect(problems).toMatchObject([{ pointer: expect.any(String), code: "too-complex" }]);
});

test.each<[string, object]>([
  ["many large patterns", { anyOf: times(1000, (index) => ({ pattern: `(a|b${index}){900}` })) }],
  ["a long pattern", { pattern: "(a|b|c)".repeat(5000) }],
])("a schema whose patterns are too large to compile is refused: %s", (name, schema) => {
  bounded(name, () => expect(() => compileArgSchema(schema)).toThrow("not valid"));
});

test.each<[string, (index: number) => unknown]>([
  ["objects", (index: number) => ({ a: { b: [index] } })],
  ["texts and numbers", (index: number) => (index % 2 ? index : `${index}`)],
])("uniqueItems takes linear time and is exact: %s", (name, item) => {
  const check = compileArgSchema({ uniqueItems: true });
  const items = times(2400, item);
  expect(bounded(name, () => check(items))).toEqual([]);
  expect(bounded(name, () => check([...items, item(7)]))).toMatchObject([{ pointer: "", code: "uniqueItems" }]);
});

test("uniqueItems treats equal values as equal however they are written", () => {
  const check = compileArgSchema({ uniqueItems: true });
  expect(
    check([
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ]),
  ).toHaveLength(1);
  expect(check([0, -0])).toHaveLength(1);
  expect(check([1, "1", true, "true", null, "null", [1], ["1"]])).toEqual([]);
});

const FORMATS = Object.keys(fullFormats);
const HOSTILE = [
  "a",
  "a.",
  "a-",
  "1",
  "1:",
  ":",
  "/",
  "%41",
  "~0",
  "{a}",
  "a@",
  "T1:",
  "P1Y",
  "-",
  " ",
  "(",
  "http://a.",
];

test.each(FORMATS)(
  "format %s checks any text in bounded time",
  (format) => {
    const check = compileArgSchema({ anyOf: [{ format }, { type: "string" }] });
    for (const part of HOSTILE) {
      const long = part.repeat(Math.floor(250_000 / part.length));
      for (const text of [long, `http://${long}!`, `a@${long}!`, `${long}\n`])
        bounded(`${format} ${part}`, () => check(text));
    }
  },
  60_000,
);

test("an ordinary schema checks the largest payload within its budget", () => {
  const check = compileArgSchema({
    items: {
      type: "object",
      required: ["id", "name"],
      properties: {
        id: { type: "string", format: "uuid" },
        name: { type: "string", pattern: "^[a-z0-9-]+$", maxLength: 200 },
        url: { type: "string", format: "url" },
        kind: { enum: ["a", "b", "c"] },
        at: { anyOf: [{ type: "string", format: "date-time" }, { type: "null" }] },
      },
      additionalProperties: false,
    },
  });
  const row = {
    id: "11111111-1111-1111-1111-111111111111",
    name: "a-name",
    url: "https://example.com/a/b",
    kind: "c",
    at: null,
  };
  expect(check(times(1600, () => row))).toEqual([]);
});

test("the bundled program checks payloads like the sources", async () => {
  const { outputFiles } = await build({
    stdin: {
      contents: `import { compileArgSchema } from "@/lib/queue/definitions/arg-schema.policy";
        const check = compileArgSchema({ type: "object", properties: { n: { type: "array", uniqueItems: true } }, required: ["n"] });
        console.log(JSON.stringify([check({ n: [1] }), check({ n: [1, 1] }).length, check({}).length]));`,
      resolveDir: process.cwd(),
      loader: "ts",
      sourcefile: "probe.mts",
    },
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    banner: {
      js: `import { createRequire } from "node:module"; const require = createRequire("${process.cwd()}/probe.mjs");`,
    },
  });
  const program = outputFiles[0]?.text ?? "";
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-"], { input: program, encoding: "utf8" });
  expect(stdout.trim()).toBe("[[],1,1]");
});
