import { expect, test } from "vitest";
import { SlotsByTenant } from "./slots-by-tenant";

function filled(...tenants: string[]): SlotsByTenant {
  const slots = new SlotsByTenant();
  for (const tenant of tenants) slots.took(tenant);
  return slots;
}

test.each([
  [[], 1, true, 1],
  [[], 4, true, 3],
  [[], 4, false, 4],
  [["a", "a"], 2, true, 1],
  [["a", "a", "a"], 1, true, 0],
  [["a", "b"], 2, true, 2],
  [["b"], 1, true, 1],
  [["b", "b"], 2, true, 2],
] as const)("with %j running, a tenant gets its share of %i slots", (tenants, free, hasOthers, most) => {
  expect(filled(...tenants).mostOf("a", { free, hasOthers })).toBe(most);
});

test("a freed slot no longer counts", () => {
  const slots = filled("a", "b");
  slots.left("b");
  expect(slots.mostOf("a", { free: 1, hasOthers: true })).toBe(0);
  slots.left("a");
  expect(slots.mostOf("a", { free: 2, hasOthers: true })).toBe(1);
});

test.each([
  [[], 4, 2],
  [["a"], 4, 1],
  [["a", "a"], 4, 0],
  [["b", "b"], 4, 1],
  [["b", "b", "c"], 4, 1],
  [["a", "b", "b"], 4, 0],
  [["b"], 1, 0],
  [[], 1, 1],
  [["a", "a", "a", "b"], 4, 0],
] as const)(
  "with %j running, of %i slots a tenant gets %i more to have half of what others leave",
  (tenants, most, more) => {
    expect(filled(...tenants).halfOf("a", most)).toBe(more);
  },
);
