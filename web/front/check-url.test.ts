import { expect, test } from "vitest";
import { checkedPath } from "./check-url";

test.each([
  undefined,
  "",
  "*",
  "http://evil/",
  "evil",
  "//evil",
  "/\\evil",
  "/a//b",
  "/%ff",
  "/api/v1/jobs/%ff",
  "/%00",
  "/a%0ab",
  "/a/../b",
  "/a/%2e%2e/b",
  "/./a",
  "/a%2fb",
  "/a%5Cb",
  "/a%",
  "/x?q=%ff",
  "/x?q=%00",
  `/${"a".repeat(9000)}`,
  "/é",
  "/a b",
  `/a?${"b&".repeat(100)}`,
])("NX-3 NX-5 %j is refused", (target) => {
  expect(checkedPath(target)).toBeNull();
});

test.each([
  ["/", "/"],
  ["/api/v1/jobs?status=failed&created_after=2026-01-01T00:00:00%2B01:00", "/api/v1/jobs"],
  ["/t/acme/jobs/%F0%9F%8E%89", "/t/acme/jobs/%F0%9F%8E%89"],
  ["/_next/static/chunks/a.b~c.js", "/_next/static/chunks/a.b~c.js"],
  ["/x?next=//evil", "/x"],
  [`/x?${"b&".repeat(99)}`, "/x"],
])("%s is accepted", (target, path) => {
  expect(checkedPath(target)).toBe(path);
});
