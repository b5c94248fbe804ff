import { expect, test } from "vitest";
import { migrateOptions, seedOptions } from "./options";

test.each([["--secrets"], ["--secrets", "--resume"], ["--pauze"], ["extra"]])(
  "a migration refuses the options %j with its usage",
  (...args) => {
    expect(() => migrateOptions(args)).toThrow(/usage: migrate/);
  },
);

test("a migration reads its options by name", () => {
  expect(migrateOptions(["--create-database", "--secrets", "/secrets"])).toEqual({
    "create-database": true,
    secrets: "/secrets",
  });
});

test.each([["--tenant", "acme"], ["--key"], ["--admin"], ["--admin", "a@b.example", "--role", "owner"]])(
  "a seed refuses the options %j with its usage",
  (...args) => {
    expect(() => seedOptions(args, false)).toThrow(/usage: migrate/);
  },
);
