import { describe, expect, test } from "vitest";
import { checkPayload, isPlainJson, PAYLOAD_LIMITS } from "./payload-check.policy";

const NUL = String.fromCharCode(0);
const codes = (value: unknown) => checkPayload(value).map((problem) => `${problem.pointer} ${problem.code}`);
const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
};

describe("a value that can be stored exactly is accepted", () => {
  test.each([
    [{}],
    [[]],
    [0],
    [false],
    [null],
    [""],
    ["10.5"],
    ["true"],
    [{ v: "0.1" }],
    [{ d: new Date(0) }],
    [{ u: undefined }],
    [{ "a/b~c": ["🎉", "\u202e"] }],
    [Number.MAX_SAFE_INTEGER],
    [-0],
    [0.1],
    [Object.create(null)],
    [nested(PAYLOAD_LIMITS.maxDepth)],
    [JSON.parse('{"__proto__": {"polluted": 1}, "constructor": 2}')],
  ])("PAYLOAD-18 %#", (value) => {
    expect(checkPayload(value)).toEqual([]);
  });
});

describe("a value that cannot be stored exactly is refused with a pointer", () => {
  test.each([
    ["PAYLOAD-01", { a: `x${NUL}y` }, ["/a nul"]],
    ["PAYLOAD-01 in a key", { [`k${NUL}`]: 1 }, ["/k\u2400 nul"]],
    ["PAYLOAD-01 nested", { a: [{ b: [NUL] }] }, ["/a/0/b/0 nul"]],
    ["PAYLOAD-03", { s: "\ud800" }, ["/s lone-surrogate"]],
    ["PAYLOAD-03 in a key", { "\udc00": 1 }, ["/\ufffd lone-surrogate"]],
    ["PAYLOAD-05 big integer", { id: Number("2481930577102938465") }, ["/id number"]],
    ["PAYLOAD-05 overflow", { e: JSON.parse("1e400") }, ["/e number"]],
    ["PAYLOAD-06 NaN", { n: Number.NaN }, ["/n number"]],
    ["PAYLOAD-06 bigint", { b: 1n }, ["/b not-json"]],
    ["PAYLOAD-06 Map", { m: new Map([[1, 2]]) }, ["/m not-json"]],
    ["PAYLOAD-06 function", { f() {} }, ["/f not-json"]],
    ["PAYLOAD-06 undefined in a list", [undefined], ["/0 not-json"]],
    // biome-ignore lint/suspicious/noSparseArray: it is what is tested
    ["PAYLOAD-06 a hole in a list", { l: [1, , 3] }, ["/l/1 not-json"]],
    [
      "PAYLOAD-06 a list that turns into something else",
      { l: Object.assign([1], { toJSON: () => 2 }) },
      ["/l not-json"],
    ],
    ["PAYLOAD-06 bad date", { d: new Date(Number.NaN) }, ["/d not-json"]],
    ["PAYLOAD-08", nested(PAYLOAD_LIMITS.maxDepth + 1), [`${"/0".repeat(PAYLOAD_LIMITS.maxDepth)} too-deep`]],
    ["pointer escapes", { "a/b": { "c~d": Number.NaN } }, ["/a~1b/c~0d number"]],
  ])("%s", (_, value, expected) => {
    expect(codes(value)).toEqual(expected);
  });

  test("PAYLOAD-06 a cycle ends with an error instead of hanging", () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(checkPayload(cycle)[0]?.code).toBe("too-deep");
  });

  test("PAYLOAD-08 a hundred thousand levels do not overflow the stack", () => {
    expect(checkPayload(nested(100_000))[0]?.code).toBe("too-deep");
  });

  test("PAYLOAD-08 more values than the limit", () => {
    expect(codes(Array.from({ length: PAYLOAD_LIMITS.maxNodes }, () => 1))).toEqual([" too-many-nodes"]);
  });

  test("PAYLOAD-10 the size is counted in UTF-8 bytes, exactly", () => {
    const sized = (bytes: number) => "€".repeat(Math.floor((bytes - 2) / 3)) + "x".repeat((bytes - 2) % 3);
    expect(checkPayload(sized(PAYLOAD_LIMITS.maxBytes))).toEqual([]);
    expect(codes(sized(PAYLOAD_LIMITS.maxBytes + 1))).toEqual([" too-large"]);
  });

  test("SECRETS-06 a problem never quotes the value", () => {
    expect(JSON.stringify(checkPayload({ token: `secret-value${NUL}` }))).not.toContain("secret-value");
  });
});

describe("the fast check", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const holed: unknown[] = [1];
  holed[2] = 3;

  test.each([[{ a: [1, "x", null, true, { b: -0.5 }] }], [[]], ["text"], [0], [null], [{}]])("accepts %j", (value) => {
    expect(isPlainJson(value)).toBe(true);
    expect(checkPayload(value)).toEqual([]);
    expect(JSON.parse(JSON.stringify(value))).toEqual(value);
  });

  test.each<[string, unknown]>([
    ["a cycle", cycle],
    ["a hole", holed],
    ["a property that is undefined", { a: undefined }],
    ["a Date", { a: new Date(0) }],
    ["a toJSON of an array", Object.assign([1], { toJSON: () => "else" })],
    ["a class", new Map()],
    ["no prototype", Object.create(null)],
    ["NUL in a key", { "a\0": 1 }],
    ["half of a pair", ["\ud800"]],
    ["NaN", Number.NaN],
    ["infinity", Number.POSITIVE_INFINITY],
    ["beyond 2^53", 2 ** 53],
    ["too many values", new Array(PAYLOAD_LIMITS.maxNodes).fill(0)],
    ["a bigint", 1n],
  ])("leaves %s to the full check", (_name, value) => {
    expect(isPlainJson(value)).toBe(false);
  });
});
