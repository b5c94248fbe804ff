import { expect, test } from "vitest";
import { canonicalJson, canonicalParts } from "./canonical-json.policy";

test("LEASE-15 values are equal if and only if they differ at most in the order of their members, at any depth", () => {
  const value = { a: [1, { b: "x", c: null }], d: { e: 1, f: [] } };
  expect(canonicalJson({ d: { f: [], e: 1 }, a: [1, { c: null, b: "x" }] })).toBe(canonicalJson(value));
  const others = [
    { ...value, a: [1, { b: "y", c: null }] },
    { ...value, a: [1, { b: "x" }] },
    { ...value, a: ["1", { b: "x", c: null }] },
    { ...value, a: [{ b: "x", c: null }, 1] },
    { ...value, d: { e: 1, f: {} } },
    { ...value, d: { e: true, f: [] } },
    { ...value, 'd":{"e': 1 },
  ];
  const texts = [value, ...others].map(canonicalJson);
  expect(new Set(texts).size).toBe(texts.length);
  expect(canonicalJson(["a:b", "c"])).not.toBe(canonicalJson(["a", "b:c"]));
});

test("the parts have the same text, and each entry of a list is a part of its own", () => {
  const bodies = [
    {},
    { jobs: [] },
    { z: 1, jobs: [{ b: [1], a: { d: 1, c: undefined } }, null, undefined] },
    [1],
    "x",
    null,
  ];
  for (const body of bodies) expect([...canonicalParts(body)].join("")).toBe(canonicalJson(body));
  const jobs = Array.from({ length: 10 }, () => ({ x: "y".repeat(1000) }));
  expect(Math.max(...[...canonicalParts({ jobs })].map(({ length }) => length))).toBeLessThan(1100);
});
