import { expect, test } from "vitest";
import { DatabaseError } from "@/lib/db";
import { QueueError } from "@/lib/queue/testing";
import { toHttpProblem } from "./errors";

test("too many open actions of a tenant answer 429 with Retry-After", () => {
  const problem = toHttpProblem(new QueueError("too-many-actions", "20 actions of this tenant are open."));
  expect(problem).toMatchObject({ code: "too-many-actions", status: 429 });
  expect(Number(problem?.headers["retry-after"])).toBeGreaterThan(0);
});

test("R-10 a server without a free connection answers 503 with Retry-After", () => {
  const problem = toHttpProblem(new DatabaseError({ kind: "unavailable", sqlState: "53300" }));
  expect(problem).toMatchObject({ code: "unavailable", status: 503 });
  expect(Number(problem?.headers["retry-after"])).toBeGreaterThan(0);
});
