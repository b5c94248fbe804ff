import { expect, test, vi } from "vitest";
import { BoundedMap } from "./bounded-map";

test("never has more than its limit of entries, and keeps the newest", () => {
  const map = new BoundedMap<number, string>(3);
  for (let n = 0; n < 10; n += 1) {
    map.set(n, `value ${n}`);
    expect(map.size).toBeLessThanOrEqual(3);
    expect(map.get(n)).toBe(`value ${n}`);
  }
});

test("drops the other entries when a key is added to a full map", () => {
  const map = new BoundedMap<string, number>(2).set("a", 1).set("b", 2);
  map.set("c", 3);
  expect([...map]).toEqual([["c", 3]]);
});

test("replaces the value of a known key in a full map without dropping entries", () => {
  const map = new BoundedMap<string, number>(2).set("a", 1).set("b", 2);
  map.set("a", 3);
  expect([...map]).toEqual([
    ["a", 3],
    ["b", 2],
  ]);
});

test("makes a value once per key", () => {
  const map = new BoundedMap<string, number>(2);
  const make = vi.fn((key: string) => key.length);
  expect([map.getOrMake("abc", make), map.getOrMake("abc", make)]).toEqual([3, 3]);
  expect(make).toHaveBeenCalledTimes(1);
});

test("keeps nothing when the value cannot be made", () => {
  const map = new BoundedMap<string, number>(2).set("a", 1).set("b", 2);
  const fail = () => {
    throw new Error("cannot be made");
  };
  expect(() => map.getOrMake("c", fail)).toThrow("cannot be made");
  expect([...map.keys()]).toEqual(["a", "b"]);
});
