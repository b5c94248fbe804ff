import { describe, expect, test } from "vitest";
import type { JobRow } from "@/lib/contract";
import { mergePage } from "./merge-page";

const row = (id: string, status: JobRow["status"] = "queued") => ({ id, status }) as JobRow;
const ids = (rows: readonly JobRow[]) => rows.map(({ id }) => id);

describe("rows on the screen and a fresh answer", () => {
  test("new rows wait while rows must not move", () => {
    const merged = mergePage([row("b"), row("a")], [row("d"), row("c"), row("b"), row("a")], {
      insert: false,
      limit: 50,
    });
    expect(ids(merged.rows)).toEqual(["b", "a"]);
    expect(ids(merged.waiting)).toEqual(["d", "c"]);
  });

  test("new rows go on top when rows may move, and the page keeps its length", () => {
    const merged = mergePage([row("b"), row("a")], [row("c"), row("b")], { insert: true, limit: 2 });
    expect(ids(merged.rows)).toEqual(["c", "b"]);
    expect(merged.waiting).toEqual([]);
  });

  test("a row that left the filter stays in its place and is marked", () => {
    const merged = mergePage([row("c"), row("b"), row("a")], [row("c", "running"), row("a")], {
      insert: true,
      limit: 50,
    });
    expect(ids(merged.rows)).toEqual(["c", "b", "a"]);
    expect(merged.rows[0]?.status).toBe("running");
    expect([...merged.gone]).toEqual(["b"]);
  });

  test("a row of the next page that moved up is not counted as new", () => {
    const merged = mergePage([row("c"), row("b")], [row("c"), row("b"), row("a")], { insert: false, limit: 50 });
    expect(merged.waiting).toEqual([]);
  });
});
