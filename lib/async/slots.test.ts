import { expect, test } from "vitest";
import { CountedSlots } from "./slots";

test("a holder takes slots up to the limit, can take a returned one again, and does not affect other holders", () => {
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
