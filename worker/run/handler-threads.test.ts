import { expect, test } from "vitest";
import { threadLimits } from "./handler-threads";

test.each([
  [{ threadMb: 128, limitMb: 1024, concurrency: 5 }, [5, 5]],
  [{ threadMb: 128, limitMb: 1024, concurrency: 20 }, [5, 4]],
  [{ threadMb: 256, limitMb: 512, concurrency: 5 }, [1, 1]],
  [{ threadMb: 4096, limitMb: 64, concurrency: 5 }, [1, 1]],
  [{ threadMb: 4096, limitMb: 0, concurrency: 5 }, [5, 5]],
])("the heaps of all threads fit into the worker's memory: %o", (memory, expected) => {
  const { atOnce, ofLine } = threadLimits(memory);
  expect([atOnce, ofLine()]).toEqual(expected);
});
