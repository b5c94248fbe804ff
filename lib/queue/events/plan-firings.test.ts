import { expect, test } from "vitest";
import { planWork } from "./plan-firings";

test("an event without triggers is no work: its data is not written as JSON", () => {
  let written = 0;
  const data = {
    toJSON: () => {
      written += 1;
      return null;
    },
  };
  const event = { id: "e", name: "heard", data, correlationId: "c", depth: 0 };
  expect(planWork(event as unknown as Parameters<typeof planWork>[0], [])).toBe(0);
  expect(written).toBe(0);
});
