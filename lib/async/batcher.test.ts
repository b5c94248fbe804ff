import { describe, expect, test } from "vitest";
import { Batcher } from "./batcher";

/** A batcher whose batches end when the test says so. */
function heldBatcher(most = 100, apartMs = 0, mostWeight = Number.POSITIVE_INFINITY) {
  const batches: { items: readonly number[]; end: (error?: Error) => void }[] = [];
  const batcher = new Batcher<number, string>(
    (items) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) => (error ? reject(error) : resolve(items.map((item) => `answer ${item}`)));
        batches.push({ items, end });
      }),
    { most, apartMs, mostWeight },
    (item) => item,
  );
  return { batcher, batches };
}

const nextTurn = () => new Promise(setImmediate);

describe("a batcher", () => {
  test("sends the items of one event loop turn together, and returns to each its own answer", async () => {
    const { batcher, batches } = heldBatcher();
    const answers = Promise.all([1, 2, 3].map((item) => batcher.add(item)));
    await nextTurn();
    expect(batches.map(({ items }) => items)).toEqual([[1, 2, 3]]);
    batches[0]?.end();
    expect(await answers).toEqual(["answer 1", "answer 2", "answer 3"]);
  });

  test("has one batch in flight: later items go together into the next", async () => {
    const { batcher, batches } = heldBatcher();
    const first = batcher.add(1);
    await nextTurn();
    const later = [2, 3].map((item) => batcher.add(item));
    await nextTurn();
    expect(batches).toHaveLength(1);
    batches[0]?.end();
    await first;
    await nextTurn();
    expect(batches.map(({ items }) => items)).toEqual([[1], [2, 3]]);
    batches[1]?.end();
    expect(await Promise.all(later)).toEqual(["answer 2", "answer 3"]);
  });

  test("never exceeds the maximum batch size", async () => {
    const { batcher, batches } = heldBatcher(2);
    const all = Promise.all([1, 2, 3, 4, 5].map((item) => batcher.add(item)));
    for (let n = 0; n < 3; n += 1) {
      await nextTurn();
      batches[n]?.end();
    }
    await all;
    expect(batches.map(({ items }) => items)).toEqual([[1, 2], [3, 4], [5]]);
  });

  test("never exceeds the maximum weight, except with a single item, and keeps the order", async () => {
    const { batcher, batches } = heldBatcher(100, 0, 10);
    const all = Promise.all([4, 6, 1, 12, 3, 5].map((item) => batcher.add(item)));
    for (let n = 0; n < 4; n += 1) {
      await nextTurn();
      batches[n]?.end();
    }
    await all;
    expect(batches.map(({ items }) => items)).toEqual([[4, 6], [1], [12], [3, 5]]);
  });

  test("a failing batch rejects its own calls, and the next batch is sent", async () => {
    const { batcher, batches } = heldBatcher();
    const lost = Promise.allSettled([batcher.add(1), batcher.add(2)]);
    await nextTurn();
    const kept = batcher.add(3);
    batches[0]?.end(new Error("away"));
    expect((await lost).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await nextTurn();
    batches[1]?.end();
    expect(await kept).toBe("answer 3");
  });

  test("works again after being idle", async () => {
    const { batcher, batches } = heldBatcher();
    for (let n = 0; n < 2; n += 1) {
      const answer = batcher.add(n);
      await nextTurn();
      batches[n]?.end();
      expect(await answer).toBe(`answer ${n}`);
    }
  });

  test("spaces batches so that a stream of items is batched", async () => {
    const { batcher, batches } = heldBatcher(100, 60);
    void batcher.add(1);
    await nextTurn();
    const began = performance.now();
    batches[0]?.end();
    await nextTurn();
    void batcher.add(2);
    await nextTurn();
    void batcher.add(3);
    expect(batches).toHaveLength(1);
    await expect.poll(() => batches.length).toBe(2);
    expect(batches[1]?.items).toEqual([2, 3]);
    expect(performance.now() - began).toBeGreaterThan(30);
  });
});
