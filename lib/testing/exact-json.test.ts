import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseJson } from "@/lib/api/http/input";
import { cleanResult } from "@/lib/execution/output/clean-result";
import { asExactJson, parseCaptured } from "@/lib/execution/output/exact-json";
import { readResult } from "@/lib/execution/output/frame/result-line";
import { type Frame, FrameReader } from "@/lib/execution/output/frames";
import { secretForms } from "@/lib/execution/output/secret-forms";
import { makeTestFolder, runShell, type TestFolder, testContext } from "@/lib/execution/test-support";
import { checkPayload } from "@/lib/queue/enqueue/payload-check.policy";
import { compileTriggerTemplate } from "@/lib/queue/triggers/trigger-template.policy";

const NO_SECRETS = secretForms([]);
const ignore = () => undefined;
const frameOf = (line: string): Frame | undefined => [...new FrameReader().push(Buffer.from(`${line}\n`))][0];

/** A number as JSON text, and the value that an exact store may keep. */
const KEPT: readonly (readonly [string, number])[] = [
  ["9007199254740991", Number.MAX_SAFE_INTEGER],
  ["-0", 0],
  ["1.0", 1],
  ["1E5", 100_000],
  ["0.1", 0.1],
  ["5e-324", 5e-324],
];
const ROUNDED = [
  "9007199254740993",
  "1152921504606846976",
  "-9007199254740993",
  "1e400",
  "1e-400",
  "0.1000000000000000055511151231257827",
  "1e21",
] as const;

/** Every way in which JSON text gets stored: returns what is kept of a number, or that it is refused. */
const DOORS: Readonly<Record<string, (number: string) => unknown>> = {
  "the API (enqueue, batch, event, trigger, webhook)": (number) => {
    try {
      return (parseJson(`{"n":${number}}`) as { n: unknown }).n;
    } catch {
      return "refused";
    }
  },
  "the result of a remote worker": (number) => (parseCaptured(`{"n":${number}}`, ignore) as { n: unknown }).n,
  "a result on fd 3": (number) => {
    const frame = frameOf(`{"type":"result","value":${number}}`);
    return frame?.type === "result" ? readResult(frame.line, ignore, async () => {}) : "refused";
  },
  "a row on fd 3": (number) => {
    const frame = frameOf(`{"type":"row","value":${number}}`);
    return frame?.type === "row" ? frame.value : "refused";
  },
  "the default of a placeholder": (number) => {
    const compiled = compileTriggerTemplate({ n: `{{event.n | default: ${number}}}` }, "event");
    if (!("template" in compiled)) return "refused";
    const [part] = compiled.template.bindings[0]?.parts ?? [];
    return (part as { default?: unknown }).default;
  },
};

test("a number of 50,000 digits costs each reader at most half a second", async () => {
  const number = `0.5${"0".repeat(50_000)}1`;
  const started = process.cpuUsage();
  for (const through of Object.values(DOORS)) await through(number);
  const { user, system } = process.cpuUsage(started);
  expect((user + system) / 1000).toBeLessThan(500 * Object.keys(DOORS).length);
});

test("of a result with too many values the first are stored, and one at the limit is stored completely", () => {
  const [fits, tooMany] = [
    new Array(9999).fill(1),
    Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [n, n])),
  ];
  expect(cleanResult(fits, NO_SECRETS)).toEqual(fits);
  const cleaned = cleanResult(tooMany, NO_SECRETS) as Record<string, unknown>;
  expect(checkPayload(cleaned)).toEqual([]);
  expect([Object.keys(cleaned).length, cleaned[9997], cleaned[9998]]).toEqual([
    9999,
    9997,
    "[left out: too many values]",
  ]);
});

test("no value of a result is lost because its key is masked or cleaned", () => {
  const given = { "hunter-1": 1, "hunter-2": 2, "a\u0000": 3, "a\ufffd": 4 };
  const cleaned = cleanResult(given, secretForms(["hunter-1", "hunter-2"]));
  expect(cleaned).toEqual({ "[redacted]": 1, "[redacted] (2)": 2, "a\ufffd": 3, "a\ufffd (2)": 4 });
});

describe.each(Object.entries(DOORS))("%s", (_name, through) => {
  test.each(KEPT)("keeps %s", async (text, value) => {
    const kept = await through(text);
    expect(JSON.stringify(kept)).toBe(JSON.stringify(value));
    expect(checkPayload(kept)).toEqual([]);
  });

  test.each(ROUNDED)("keeps the digits of %s, or refuses it", async (text) => {
    expect(["refused", text]).toContain(await through(text));
  });
});

describe("the result of a handler", () => {
  const changesOf = (value: unknown) => {
    const changes: string[] = [];
    return { kept: cleanResult(value, NO_SECRETS, (change) => changes.push(change)), changes };
  };

  test.each([
    [{ n: 2n ** 60n }, { n: "1152921504606846976" }],
    [{ n: 2 ** 60 }, { n: "1152921504606846976" }],
    [{ n: Number.NaN }, { n: null }],
    [[undefined], [null]],
    [{ f: ignore }, { f: "[left out: a function is not JSON]" }],
    [{ m: new Map([[1, 2]]) }, { m: "[left out: a Map is not JSON]" }],
    [{ d: new Date(Number.NaN) }, { d: "[left out: a Date without a time]" }],
  ])("%# that JSON would change is logged", (value, expected) => {
    const { kept, changes } = changesOf(value);
    expect(kept).toEqual(expected);
    expect(changes).toHaveLength(1);
  });

  test("is stored without a log line if JSON can represent it", () => {
    const value = { d: new Date(0), u: undefined, url: new URL("http://a/b"), own: { toJSON: () => 7 } };
    expect(changesOf(value)).toEqual({
      kept: { d: "1970-01-01T00:00:00.000Z", url: "http://a/b", own: 7 },
      changes: [],
    });
  });
});

test.each([
  ["NaN", Number.NaN],
  ["undefined in a list", [undefined]],
  ["a bigint", 2n],
  ["a Map", new Map()],
  ["a RegExp", { r: /a/ }],
  ["a Promise", [Promise.resolve()]],
  ["a Date without a time", { d: new Date(Number.NaN) }],
  ["a function", { f: ignore }],
  ["a symbol", { s: Symbol("s") }],
])("%s is refused as the result of a step", (_what, value) => {
  expect(() => asExactJson(value)).toThrow(TypeError);
});

test("a step's result is the JSON form of a Date and of an undefined property", () => {
  expect(asExactJson({ d: new Date(0), u: undefined })).toEqual({ d: "1970-01-01T00:00:00.000Z" });
  expect(asExactJson(undefined)).toBeNull();
});

describe("a command", () => {
  let folder: TestFolder;
  beforeAll(async () => {
    folder = await makeTestFolder();
  });
  afterAll(() => folder.remove());

  test("whose result has a large integer keeps its digits, and logs it", async () => {
    const { ctx, recorded } = testContext();
    const line = '{"type":"result","value":{"id":1152921504606846976,"id":1152921504606846977}}';
    const { outcome } = await runShell(folder, `echo '${line}' >&3`, ctx);
    expect(outcome).toEqual({ kind: "succeeded", result: { id: "1152921504606846977" } });
    expect(recorded.logs.map(({ text }) => text).join("\n")).toMatch(/appears twice[\s\S]*kept as texts/);
  });

  test.each([
    ["is no JSON", `echo '{"type":"result","value":NaN}' >&3`],
    [
      "is longer than a MiB",
      `{ printf '{"type":"result","value":"'; head -c 1100000 /dev/zero | tr '\\0' x; echo '"}'; } >&3`,
    ],
    [
      "names its type last",
      `{ printf '{"value":"'; head -c 1100000 /dev/zero | tr '\\0' x; echo '","type":"result"}'; } >&3`,
    ],
  ])("whose result %s fails with the reason", async (_what, script) => {
    const { outcome } = await runShell(folder, script);
    expect(outcome).toMatchObject({ kind: "failed", errorType: "internal" });
    expect(outcome).toHaveProperty("message", expect.stringContaining("the command sent a result that cannot be read"));
  });

  test("succeeds when a readable result follows an unreadable one", async () => {
    const { outcome } = await runShell(
      folder,
      `echo '{"type":"result","value":NaN}' >&3; echo '{"type":"result","value":1}' >&3`,
    );
    expect(outcome).toEqual({ kind: "succeeded", result: 1 });
  });

  test("whose output is truncated logs how much is omitted", async () => {
    const { ctx, recorded } = testContext();
    const { output } = await runShell(folder, "yes 0123456789abcdef | head -c 3000000", ctx);
    expect(output.stdoutBytes).toBe(3_000_000);
    expect(recorded.logs.at(-1)?.text).toMatch(/^\d+ of 3000000 bytes of standard output are not in the log\.$/);
  });
});
