import { expect, test } from "vitest";
import { statement } from "./statement";

test("two texts under one name get two prepared names", () => {
  expect(statement("read_job", "select 1").name).not.toBe(statement("read_job", "select 2").name);
  expect(statement("read_job", "select 1").name).toBe(statement("read_job", "select 1").name);
});

test("a prepared name fits the server's 63 bytes and keeps its hash", () => {
  const long = "x".repeat(100);
  const [one, two] = [statement(long, "select 1").name, statement(long, "select 2").name];
  expect(one.length).toBeLessThanOrEqual(63);
  expect(one).not.toBe(two);
});
