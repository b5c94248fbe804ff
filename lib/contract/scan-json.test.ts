import fc from "fast-check";
import { expect, test } from "vitest";
import { MalformedJson, SCAN_LIMITS, scanJson, scanJsonInTurns } from "./scan-json";

const codes = (text: string) => scanJson(text).map((problem) => `${problem.pointer} ${problem.code}`);

test("PAYLOAD-11 duplicate keys are found in every spelling", () => {
  expect(codes('{"cmd":"safe","cmd":"rm"}')).toEqual(["/cmd duplicate-key"]);
  expect(codes('{"p":{"a":1,"\\u0061":2}}')).toEqual(["/p/a duplicate-key"]);
  expect(codes('[{"a":1},{"a":2}]')).toEqual([]);
});

test("PAYLOAD-05 numbers that a double cannot represent are found", () => {
  const text =
    '{"id":2481930577102938465,"n":9007199254740993,"e":1e400,"d":0.1,"z":-0,"t":1e-400,"ok":9007199254740991}';
  expect(codes(text)).toEqual(["id", "n", "e", "t"].map((key) => `/${key} number-out-of-range`));
});

test("a number keeps all its digits or is refused with its pointer", () => {
  const kept = [
    "0.1",
    "1.50",
    "0.30000000000000004",
    "2.2250738585072014e-308",
    "5e-324",
    "100000000000000.000000",
    "-0.5",
    "12.34e-56",
    "0.00000000000000000001",
    "9007199254740991.0",
  ];
  const refused = [
    "0.12345678901234567890",
    "1.00000000000000000001",
    "9007199254740990.7",
    "-3.14159265358979323846",
    "1234567.123456789012345e-3",
  ];
  for (const number of kept) expect(codes(`{"n":${number}}`), number).toEqual([]);
  for (const number of refused) expect(codes(`{"n":${number}}`), number).toEqual(["/n number-out-of-range"]);
  fc.assert(
    fc.property(
      fc.double({ noNaN: true, min: -(2 ** 53) + 1, max: 2 ** 53 - 1 }),
      (value) => codes(JSON.stringify([value])).length === 0,
    ),
  );
});

test("PAYLOAD-01 PAYLOAD-03 NUL and lone surrogates are found in values and keys", () => {
  expect(codes('{"a":["x\\u0000y"]}')).toEqual(["/a/0 nul-character"]);
  expect(codes('{"a\\u0000":1}')).toEqual(["/a\ufffd nul-character"]);
  expect(codes('{"s":"\\ud800","ok":"\\ud83c\\udf89"}')).toEqual(["/s lone-surrogate"]);
});

test.each([10_000, 100_000])("PAYLOAD-08 %i nested arrays are refused without recursion", (depth) => {
  expect(scanJson("[".repeat(depth) + "]".repeat(depth)).map((problem) => problem.code)).toEqual(["too-deep"]);
});

test("more values than allowed are refused", () => {
  expect(scanJson(`[${"1,".repeat(30_000)}1]`).map((problem) => problem.code)).toEqual(["too-many-nodes"]);
});

test.each([
  "",
  "{",
  '{"a"}',
  "[1,]",
  '{"a":1,}',
  "01",
  "+1",
  "nul",
  '"\n"',
  '"\\x"',
  "1 2",
  "[1}",
  "'a'",
  "{a:1}",
  '"a',
  "-",
  "1.",
])("%j is malformed", (text) => {
  expect(() => scanJson(text)).toThrow(MalformedJson);
});

test("agrees with JSON.parse on what is JSON", () => {
  fc.assert(
    fc.property(
      fc.json({ maxDepth: 5 }),
      fc.nat(),
      fc.constantFrom("", "{", "]", ",", '"', "1", "\\", "e"),
      (json, at, noise) => {
        const cut = at % (json.length + 1);
        const text = json.slice(0, cut) + noise + json.slice(cut);
        let valid = true;
        try {
          JSON.parse(text);
        } catch {
          valid = false;
        }
        let accepted = true;
        try {
          // After this many problems, the rest is not scanned.
          if (scanJson(text).length >= SCAN_LIMITS.problems) return;
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedJson);
          accepted = false;
        }
        expect(accepted).toBe(valid);
      },
    ),
    { numRuns: 2000 },
  );
});

test("the values of one payload are counted separately, and a scan that yields finds the same", async () => {
  const payload = (values: number) =>
    `{"definition_key":"a","payload":[${Array.from({ length: values }, () => 1).join()}]}`;
  const batch = (...payloads: string[]) => `{"jobs":[${payloads.join()}]}`;
  const few = batch(payload(15_000), payload(15_000), payload(15_000));
  const many = batch(payload(15_000), payload(SCAN_LIMITS.nodes + 1), payload(1));
  expect(scanJson(few, 200_000)).toEqual([]);
  expect(scanJson(many, 200_000)).toMatchObject([{ pointer: "/jobs/1/payload", code: "too-many-nodes" }]);
  let pauses = 0;
  const pause = async () => {
    pauses += 1;
  };
  expect(await scanJsonInTurns(few, pause, 200_000)).toEqual([]);
  expect(pauses).toBeGreaterThan(5);
  expect(await scanJsonInTurns(many, pause, 200_000)).toEqual(scanJson(many, 200_000));
});
