import { expect, test } from "vitest";
import { retryAfter } from "./retry-after";

const NOW = Date.parse("2026-03-01T12:00:00Z");

test.each([
  ["120", 120],
  [" 0 ", 0],
  ["Sun, 01 Mar 2026 12:01:30 GMT", 90],
  ["Sun, 01 Mar 2026 11:00:00 GMT", 0],
  ["Sun, 01 Mar 2099 00:00:00 GMT", 604_800],
  ["99999999999999999999999999", 604_800],
])("LEASE-33 Retry-After %j means %d seconds", (header, seconds) => expect(retryAfter(header, NOW)).toBe(seconds));

test.each([null, undefined, "", "soon", "-5", "1.5e"])("Retry-After %j is ignored", (header) => {
  expect(retryAfter(header, NOW)).toBeUndefined();
});
