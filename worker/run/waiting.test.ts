import { expect, test } from "vitest";
import { Waiting } from "./waiting";

const item = (tenantId: string, n: number) => ({ job: { tenantId }, n });

test("tenants take turns, each with its own jobs in order", () => {
  const waiting = new Waiting<ReturnType<typeof item>>();
  const late = item("quiet", 4);
  for (const one of [item("busy", 1), item("busy", 2), item("busy", 3), late]) waiting.add(one);
  expect(waiting.size).toBe(4);
  expect([1, 2, 3, 4, 5].map(() => waiting.next()?.n)).toEqual([1, 4, 2, 3, undefined]);
  expect([waiting.size, waiting.all()]).toEqual([0, []]);
});

test("thousands of jobs wait in their order, also when some are removed", () => {
  const waiting = new Waiting<ReturnType<typeof item>>();
  const all = Array.from({ length: 5000 }, (_, n) => item("a", n));
  for (const one of all) waiting.add(one);
  for (const one of all) if (one.n % 7 === 3) waiting.remove(one);
  const expected = all.flatMap(({ n }) => (n % 7 === 3 ? [] : [n]));
  expect([waiting.size, waiting.all().map(({ n }) => n)]).toEqual([expected.length, expected]);
  const taken = expected.slice(0, 3000).map(() => waiting.next()?.n);
  waiting.add(item("a", 5000));
  while (waiting.size > 0) taken.push(waiting.next()?.n);
  expect(taken).toEqual([...expected, 5000]);
  expect(waiting.next()).toBeUndefined();
});

test("a removed job is not returned", () => {
  const waiting = new Waiting<ReturnType<typeof item>>();
  const [one, two] = [item("a", 1), item("a", 2)];
  waiting.add(one);
  waiting.add(two);
  waiting.remove(one);
  waiting.remove(one);
  expect([waiting.size, waiting.next()?.n, waiting.next()]).toEqual([1, 2, undefined]);
});
