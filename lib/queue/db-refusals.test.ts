import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DatabaseError } from "@/lib/db";
import { dbRefusal } from "./db-refusals";

test("every error code that a SQL function raises has a QueueError code, and no other code has one", () => {
  const folder = "drizzle/functions";
  const texts = readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`, "utf8"));
  const raised = new Set(texts.flatMap((text) => text.match(/(?<=errcode = ')LH\d+(?=')/g) ?? []));
  const meant = [...raised].sort().map((code) => dbRefusal(new DatabaseError({ kind: "other", sqlState: code })));
  expect(meant).toEqual(["tenant-suspended", "definition-changed", "queue-unknown", "parent-missing"]);
  expect(dbRefusal(new DatabaseError({ kind: "other", sqlState: "23505" }))).toBeNull();
  expect(dbRefusal(new Error("LH001"))).toBeNull();
});
