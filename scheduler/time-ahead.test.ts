import { expect, test } from "vitest";
import { TimeAhead } from "./time-ahead";

/** Works off turns of tenants whose turns take these times. Returns the number of turns of each. */
function turnsOf(costs: Readonly<Record<string, number>>, turns: number, ahead = new TimeAhead()) {
  const counts = Object.fromEntries(Object.keys(costs).map((id) => [id, 0]));
  for (let turn = 0; turn < turns; turn += 1) {
    const now = ahead.all();
    const [[id, ms] = ["", 0]] = Object.entries(costs).sort(([a], [b]) => (now.get(a) ?? 0) - (now.get(b) ?? 0));
    ahead.took(id, ms);
    counts[id] = (counts[id] ?? 0) + 1;
  }
  return counts;
}

test("a tenant whose turns take long waits for turns of others that take as much", () => {
  const { heavy = 0, light = 0 } = turnsOf({ heavy: 2000, light: 20 }, 1010);
  expect(light / heavy).toBeGreaterThan(99);
  expect(heavy).toBeGreaterThan(8);
});

test("a tenant alone gathers no debt, and one without work gains no advance", () => {
  const ahead = new TimeAhead();
  turnsOf({ heavy: 2000 }, 100, ahead);
  expect([...ahead.all()]).toEqual([["heavy", 2000]]);
  expect(turnsOf({ heavy: 1000, other: 1000 }, 20, ahead)).toEqual({ heavy: 9, other: 11 });
});
