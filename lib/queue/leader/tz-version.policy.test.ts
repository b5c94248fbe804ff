import { expect, test } from "vitest";
import { isOlderTz, newestTz } from "./tz-version.policy";

test("versions of time-zone data are ordered by year, then by letter", () => {
  const ordered = [null, "2024b", "2025a", "2025b", "2025z", "2025za", "2026", "2026a"];
  for (const [at, one] of ordered.entries())
    for (const [below, other] of ordered.entries()) expect(isOlderTz(one, other)).toBe(at < below);
  expect(newestTz(["2025b", null, "2026a", "2025z"])).toBe("2026a");
});

test("an unknown version is older than every known one and equal to another unknown one", () => {
  expect(isOlderTz("whatever", "2025b")).toBe(true);
  expect(isOlderTz(null, "whatever")).toBe(false);
  expect(newestTz([])).toBeNull();
});
