import { expect, test } from "vitest";
import { bounded } from "../definitions/arg-schema.fixture";
import { compileTriggerCondition, explainTriggerCondition } from "./trigger-condition.policy";
import type { EventMeta } from "./trigger-template.policy";

const META: EventMeta = {
  id: "0192d5a0-0000-7000-8000-000000000001",
  name: "image.added",
  received_at: "2026-03-01T12:00:00.000Z",
  producer_id: "p-1",
  correlation_id: null,
  source: "api",
};
const EVENT = JSON.parse(
  '{"n":3,"f":1.5,"s":"abc","t":true,"b":false,"z":null,"l":[1,2,"x"],"o":{"a":1,"k":[{"p":1}]},"c d":5,"__proto__":{"a":1}}',
) as unknown;

function explain(text: string, event: unknown = EVENT) {
  const compiled = compileTriggerCondition(text);
  if ("problems" in compiled) throw new Error(`${text}: ${compiled.problems[0]?.detail}`);
  return explainTriggerCondition(compiled.condition, { event, meta: META });
}

const refusal = (text: string): string => {
  const compiled = compileTriggerCondition(text);
  return "problems" in compiled ? (compiled.problems[0]?.detail ?? "") : "accepted";
};

test.each([
  "event.n == 3 && event.n == 3.0 && event.f > 1 && event.n >= 3 && -4 < event.n",
  'event.s == "abc" && event.s != "x" && "abd" > event.s',
  "event.t && !event.b && event.b == false && event.z == null",
  'event.n in [1, 3] && event.s in ["abc", null] && "x" in event.l && 2 in event.l && "a" in event.o',
  "has(event.s) && !has(event.q) && has(event.o.k)",
  'event.s.startsWith("ab") && event.s.endsWith("c") && size(event.l) == 3 && event.s.size() == 3',
  'event.o.k[0].p == 1 && event["c d"] == 5',
  'meta.name == "image.added" && meta.name.startsWith("image.") && meta.producer_id == "p-1"',
  "event.q == 1 || event.n == 3",
  '(event.n == 4 || (event.n == 3 && !(event.s == "q"))) && event.t',
  'event.s == "abc" // said by hand',
])("is true: %s", (text) => {
  expect(explain(text)).toMatchObject({ holds: true });
});

test("lists the false parts of a condition, and why a part could not be evaluated", () => {
  const text =
    'event.n == 3 && event.s == "abd" && (event.q == 1 || event.n > 5) && event.s > 3 && event.o && meta.source == "api"';
  expect(explain(text)).toEqual({
    holds: false,
    parts: [
      { text: "event.n == 3", holds: true, detail: null },
      { text: 'event.s == "abd"', holds: false, detail: null },
      { text: "event.q == 1 || event.n > 5", holds: false, detail: "No such key: q" },
      { text: "event.s > 3", holds: false, detail: expect.stringContaining("no such overload") },
      { text: "event.o", holds: false, detail: "is neither true nor false" },
      { text: 'meta.source == "api"', holds: true, detail: null },
    ],
  });
});

test("a comparison with a missing value is false, for equality and for inequality", () => {
  for (const text of ["event.q == null", "event.q != 1", "event.o.x.y == 1", "has(event.q.r)", "event.l[7] == 1"])
    expect(explain(text), text).toMatchObject({
      holds: false,
      parts: [{ detail: expect.stringContaining("No such key") }],
    });
});

test("TEMPLATE-03 only own properties can be read, nothing of JavaScript", () => {
  for (const name of ["constructor", "toString", "hasOwnProperty", "valueOf"]) {
    expect(explain(`has(event.${name})`).holds).toBe(false);
    expect(explain(`event.${name} == 1 || true`).holds).toBe(true);
    expect(explain(`event["${name}"] != null`).holds).toBe(false);
  }
  expect(explain("event.s.length == 3").holds).toBe(false);
  expect(explain("event.__proto__.a == 1", {}).holds).toBe(false);
});

const REFUSED: readonly (readonly [string, string])[] = [
  ['event.s.matches("(a+)+$")', "matches"],
  ["event.l.all(x, x > 1)", "all"],
  ["event.l.map(x, x) == event.l", "map"],
  ["cel.bind(a, 1, a == 1)", "Exceeded max"],
  ["event.n + 1 == 4", "uses +"],
  ["event.t ? true : false", "uses ?:"],
  ['{"a": 1} == event.o', "uses map"],
  ['timestamp("2026-01-01T00:00:00Z") == event.s', "timestamp"],
  ["type(event.n) == type(1)", "type"],
  ['b"abc" == event.s', "kind of value"],
  ["[[1]] == event.l", "has a list"],
  ["event.l[event.n] == 1", "[ ]"],
  ["secrets.DB == 1", "event or meta"],
  ["event.n ==", "not a condition"],
  ["event.n = 3", "not a condition"],
  ["event.s and event.n", "not a condition"],
  ["event.n == 0.1000000000000000055511151231257827", "kept exactly"],
  ["event.n in [-0.10000000000000000001]", "kept exactly"],
  ["event.n > 1e-400", "kept exactly"],
  ["event.n < 1e400", "not a condition"],
  ['"text"', "neither true nor false"],
  ["event.n == 3 && 5", "neither true nor false"],
  ["", "1 to 2000"],
  [`event.n == 3 ${"|| event.n == 3 ".repeat(200)}`, "1 to 2000"],
  [`${"!".repeat(1500)}event.t`, "Exceeded max"],
  [`${"(".repeat(900)}event.t${")".repeat(900)}`, "Exceeded max"],
  [`event.n in [${"1,".repeat(101)}1]`, "Exceeded max"],
];

test("unsupported CEL, an expression that is not a condition and one that is too large are refused when saved", () => {
  for (const [text, reason] of REFUSED) expect(refusal(text), text.slice(0, 60)).toContain(reason);
});

test("numbers of an event compare with integers of a condition by value", () => {
  expect(explain("event.n == 9007199254740991", { n: 9007199254740991 }).holds).toBe(true);
  expect(explain("event.n == 0 && event.n <= 0", { n: -0 }).holds).toBe(true);
  expect(explain("event.n < 1e20 && event.n < 1152921504606846976", { n: 9007199254740991 }).holds).toBe(true);
  expect(explain("event.n == 1.50 && event.n in [-0.1, 15e-1]", { n: 1.5 }).holds).toBe(true);
  expect(explain('event.n == "3"').holds).toBe(false);
});

test("a condition can compare values of the event with each other eight times, and with constants without limit", () => {
  const parts = (count: number, text: string) => Array.from({ length: count }, () => text);
  for (const joint of [" && ", " || "]) {
    expect(compileTriggerCondition(parts(8, "event.a==event.b").join(joint))).toMatchObject({
      condition: { looks: 8 },
    });
    expect(compileTriggerCondition(parts(9, "event.a!=event.b").join(joint))).toMatchObject({
      problems: [{ detail: expect.stringContaining("more than 8 times") }],
    });
    expect(compileTriggerCondition(parts(30, "event.a==1").join(joint))).toMatchObject({ condition: { looks: 0 } });
  }
  expect(compileTriggerCondition('"x" in event.tags && size(event.a) > 2')).toMatchObject({ condition: { looks: 2 } });
});

const repeated = (count: number, text: string, joint: string) => Array.from({ length: count }, () => text).join(joint);
const entries = (count: number, value: (n: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, value(n)]));
const items = (count: number, value: (n: number) => unknown) => Array.from({ length: count }, (_, n) => value(n));

const LARGEST: readonly (readonly [string, { readonly a: unknown; readonly b: unknown }])[] = [
  ["many keys, and a list of empty objects", { a: entries(4900, () => 1), b: items(4900, () => ({})) }],
  ["keys within a key, and lists of the like", { a: { c: entries(3000, () => 1) }, b: items(3000, () => ({ c: {} })) }],
  ["a long list, and lists of one", { a: items(4900, (n) => n), b: items(2400, (n) => [n]) }],
  ["a list of objects, and objects", { a: [entries(3000, () => 1)], b: items(3000, () => [{}]) }],
  ["equal objects", { a: entries(4900, (n) => n), b: entries(4900, (n) => n) }],
  ["texts", { a: "x".repeat(125_000), b: "x".repeat(125_000) }],
  ["a text, and a list of texts", { a: "x".repeat(25), b: items(9000, (n) => `${"x".repeat(20)}${n}`) }],
];
const HARDEST = [
  repeated(8, "event.a in event.b", " || "),
  repeated(8, "!(event.b in event.a)", " && "),
  repeated(8, "event.a == event.b", " || "),
  repeated(16, "size(event.b) < 0", " || "),
  repeated(16, '"y" in event.b', " || "),
];

test.each(LARGEST)("no condition takes long to evaluate on the largest event: %s", (name, event) => {
  for (const text of HARDEST) bounded(`${name}: ${text}`, () => explain(text, event));
});

test("a condition can read lists and texts of the event sixteen times", () => {
  expect(refusal(repeated(16, "size(event.a) > 1", " && "))).toBe("accepted");
  expect(refusal(repeated(17, "size(event.a) > 1", " && "))).toContain("more than 16 times");
});
