import { expect, test } from "vitest";
import * as z from "zod";
import type { Permission } from "@/lib/contract";
import { eventRow } from "@/lib/contract/events";
import { cutAnswer } from "@/lib/contract/shown";
import { shareOfLongestTurn } from "@/lib/testing/measure/longest-turn";
import { answerText } from "./respond";

const ID = "0198a000-0000-7000-8000-000000000000";
const AT = "2026-01-01T00:00:00.000Z";
const FIRING = {
  ...{ id: ID, trigger_id: ID, trigger_label: "t", outcome: "enqueued", reason: null, detail: null },
  ...{ job_id: ID, job_status: "queued", definition_key: "a" },
};
const ROW = {
  ...{ id: ID, name: "n", producer_id: null, source: "api", correlation_id: "c", depth: 0, caused_by_job_id: ID },
  ...{ received_at: AT, status: "done", considered_count: 20, matched_count: 20, started_count: 20, reason: null },
};
const rows = (count: number, firings: number) =>
  Array.from({ length: count }, () => ({ ...ROW, firings: Array.from({ length: firings }, () => ({ ...FIRING })) }));
const list = z.object({ data: z.array(eventRow), next_cursor: z.string().nullable() });
const HELD = new Set<Permission>(["events:read"]);

test("filtering the rows of a long answer yields the event loop", async () => {
  const answer = { data: rows(2000, 20), next_cursor: null };
  expect(await shareOfLongestTurn(() => answerText(list, answer, HELD), 0.34)).toBeLessThan(0.34);
}, 60_000);

test("an answer filtered row by row equals one filtered at once", async () => {
  const answer = { data: rows(30, 2), next_cursor: null };
  const cut = JSON.parse(await answerText(list, answer, HELD));
  expect(cut).toEqual(cutAnswer(list, answer, HELD));
  expect(cut.data[0]).not.toHaveProperty("caused_by_job_id");
  expect(cut.data[0].firings[0]).not.toHaveProperty("job_id");
});

test("a part without anything to remove is not copied", () => {
  const part = z.object({ a: z.string() });
  const mixed = z.object({ row: eventRow, part });
  const value = { row: rows(1, 1)[0], part: { a: "b" } };
  const cut = cutAnswer(mixed, value, HELD) as typeof value;
  expect(cut.part).toBe(value.part);
  expect(cut.row).not.toHaveProperty("caused_by_job_id");
});
