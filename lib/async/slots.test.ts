import { expect, test } from "vitest";
import { CountedSlots } from "./slots";

test("a holder takes no more slots than the limit, gets one back when it gives one back, and leaves others theirs", () => {
  const slots = new CountedSlots(2);
  const [first, second] = [slots.take("ada"), slots.take("ada")];
  expect(slots.take("ada")).toBeNull();
  expect(slots.take("max")).not.toBeNull();
  first?.();
  expect(slots.take("ada")).not.toBeNull();
  expect(slots.take("ada")).toBeNull();
  second?.();
  expect(slots.take("ada")).not.toBeNull();
});
