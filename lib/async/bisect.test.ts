import { describe, expect, test } from "vitest";
import { bisect } from "./bisect";

class Refusal extends Error {}

/** Bisects numbers of which some are refused, and records each call. */
function refusing(...refused: readonly number[]) {
  const calls: string[] = [];
  const run = (batch: readonly number[]) =>
    bisect(batch, {
      apply: async (part) => {
        calls.push(part.join(" "));
        if (part.some((n) => refused.includes(n))) throw new Refusal("refused");
        return `applied ${part.join(" ")}`;
      },
      isOfOne: (error) => error instanceof Refusal,
      onRefused: (n) => `refused ${n}`,
    });
  return { run, calls };
}

describe("a bisection", () => {
  test("applies a batch without refusals in one call", async () => {
    const { run, calls } = refusing();
    expect(await run([1, 2, 3])).toEqual(["applied 1 2 3"]);
    expect(calls).toEqual(["1 2 3"]);
  });

  test("applies nothing for an empty batch", async () => {
    const { run, calls } = refusing();
    expect(await run([])).toEqual([]);
    expect(calls).toEqual([]);
  });

  test("isolates the refused item and applies the others together, in order", async () => {
    const { run, calls } = refusing(3);
    expect(await run([1, 2, 3, 4, 5])).toEqual(["applied 1 2", "refused 3", "applied 4 5"]);
    expect(calls).toEqual(["1 2 3 4 5", "1 2", "3 4 5", "3", "4 5"]);
  });

  test("isolates each of several refused items", async () => {
    expect(await refusing(1, 4).run([1, 2, 3, 4])).toEqual(["refused 1", "applied 2", "applied 3", "refused 4"]);
    expect(await refusing(1, 2).run([1, 2])).toEqual(["refused 1", "refused 2"]);
  });

  test("finds one refused item among 1,000 in about two calls per halving", async () => {
    const { run, calls } = refusing(700);
    await run(Array.from({ length: 1000 }, (_, n) => n));
    expect(calls.length).toBeLessThanOrEqual(21);
  });

  test("rejects at once with an error that is not about a single item", async () => {
    let calls = 0;
    const apply = () => {
      calls += 1;
      return Promise.reject(new Error("no connection"));
    };
    const answer = bisect([1, 2, 3], { apply, isOfOne: (error) => error instanceof Refusal, onRefused: () => "" });
    await expect(answer).rejects.toThrow("no connection");
    expect(calls).toBe(1);
  });

  test("rejects with an error of onRefused and applies no later item", async () => {
    const calls: number[][] = [];
    const answer = bisect([1, 2, 3, 4], {
      apply: async (part) => {
        calls.push([...part]);
        if (part.includes(2)) throw new Refusal("refused");
      },
      isOfOne: () => true,
      onRefused: (_, error) => Promise.reject(error),
    });
    await expect(answer).rejects.toThrow("refused");
    expect(calls).toEqual([[1, 2, 3, 4], [1, 2], [1], [2]]);
  });
});
