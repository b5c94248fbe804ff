import { expect, test } from "vitest";
import { isSafePath, pathOnly, safePathOf } from "./safe-path";

const ORIGIN = "http://127.0.0.1:3000";

test.each([
  "//evil",
  "/\\evil",
  "\\\\evil",
  "https:evil",
  "https://evil",
  "@evil.com",
  ".evil.com",
  "/\t/evil",
  "/\n/evil",
  "javascript:alert(1)",
  "data:text/html,x",
  "http://[::1",
  "http://127.0.0.1:3000@evil",
  "http://127.0.0.1:3000.evil/",
  "http://127.0.0.1:3000//evil",
  "http://127.0.0.1:3000/\\evil",
  "",
  " /x",
  `/${"a".repeat(3000)}`,
  "/é",
  "/.//evil",
  "/..//evil",
  "/x/..//evil",
  "/%2e//evil",
  "/x/.%2E//evil",
])("TENANT-03 %j does not leave the origin", (target) => {
  expect(pathOnly(target, ORIGIN)).toBe("/");
});

test("TENANT-03 an own page is kept as a path", () => {
  expect(pathOnly(`${ORIGIN}/t/acme/jobs?status=failed`, ORIGIN)).toBe("/t/acme/jobs?status=failed");
  expect(pathOnly("/t/acme/jobs", ORIGIN)).toBe("/t/acme/jobs");
  expect(isSafePath("/%09/evil")).toBe(true);
});

test("a target that is missing, given twice or unsafe becomes /", () => {
  expect([[], ["//evil"], ["/a", "/a"], ["/t/acme?x=1"]].map(safePathOf)).toEqual(["/", "/", "/", "/t/acme?x=1"]);
});
