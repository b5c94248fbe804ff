import { expect, test } from "vitest";
import { migrateOptions, seedOptions } from "./options";

test.each([["--secrets"], ["--secrets", "--resume"], ["--pauze"], ["extra"]])(
  "a migration with the options %j is refused with the usage",
  (...args) => {
    expect(() => migrateOptions(args)).toThrow(/usage: migrate/);
  },
);

test("the options of a migration are read by name", () => {
  expect(migrateOptions(["--create-database", "--secrets", "/secrets"])).toEqual({
    "create-database": true,
    secrets: "/secrets",
  });
});

test.each([["--tenant", "acme"], ["--key"], ["--admin"], ["--admin", "a@b.example", "--role", "owner"]])(
  "a seed with the options %j is refused with the usage",
  (...args) => {
    expect(() => seedOptions(args, false)).toThrow(/usage: migrate/);
  },
);
