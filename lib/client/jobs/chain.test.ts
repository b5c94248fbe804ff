import { expect, test } from "vitest";
import type { EventRow, JobRow } from "@/lib/contract";
import { inOrder } from "./chain";

test("a chain is ordered by time, and an event comes before the jobs of the same instant", () => {
  const at = (ms: number) => new Date(ms).toISOString();
  const event = (id: string, ms: number) => ({ id, received_at: at(ms) }) as EventRow;
  const job = (id: string, ms: number) => ({ id, queued_at: at(ms) }) as JobRow;
  const links = inOrder([event("second", 2000), event("first", 1000)], [job("late", 3000), job("early", 1000)]);
  expect(links.map((link) => (link.kind === "event" ? link.event.id : link.job.id))).toEqual([
    "first",
    "early",
    "second",
    "late",
  ]);
});
