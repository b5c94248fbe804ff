import { describe, expect, test } from "vitest";
import { mergePage, showNewest } from "./merge-page";

const row = (id: string, status = "queued") => ({ id, status });
const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

describe("rows on the screen and a new answer", () => {
  test("new rows wait, at any position", () => {
    const merged = mergePage([row("d"), row("b")], [row("e"), row("d"), row("c"), row("b")]);
    expect(ids(merged.rows)).toEqual(["d", "b"]);
    expect(ids(merged.waiting)).toEqual(["e", "c"]);
  });

  test("new rows wait even if no shown row is in the answer", () => {
    const merged = mergePage([row("b"), row("a")], [row("d"), row("c")]);
    expect(ids(merged.rows)).toEqual(["b", "a"]);
    expect(ids(merged.waiting)).toEqual(["d", "c"]);
    expect([...merged.gone]).toEqual(["b", "a"]);
  });

  test("a row that no longer matches the filter stays in its position and is marked", () => {
    const merged = mergePage([row("c"), row("b"), row("a")], [row("c", "running"), row("a")]);
    expect(ids(merged.rows)).toEqual(["c", "b", "a"]);
    expect(merged.rows[0]?.status).toBe("running");
    expect([...merged.gone]).toEqual(["b"]);
  });

  test("a row of the next page that moved up does not count as new", () => {
    expect(mergePage([row("c"), row("b")], [row("c"), row("b"), row("a")]).waiting).toEqual([]);
  });

  test("a selected row stays when the newest rows are shown", () => {
    const merged = showNewest([row("b"), row("a")], [row("d"), row("c")], new Set(["a"]));
    expect(ids(merged.rows)).toEqual(["d", "c", "a"]);
    expect([...merged.gone]).toEqual(["a"]);
    expect(merged.waiting).toEqual([]);
  });

  test("requested older rows are added below while new ones wait", () => {
    const merged = mergePage([row("c"), row("b")], [row("d"), row("c"), row("b"), row("a")], { grows: true });
    expect(ids(merged.rows)).toEqual(["c", "b", "a"]);
    expect(ids(merged.waiting)).toEqual(["d"]);
  });

  test("in a complete list every unknown row waits, at any position", () => {
    const merged = mergePage([row("a"), row("c")], [row("a"), row("b"), row("c"), row("d")], { whole: true });
    expect(merged.rows.map(({ id }) => id)).toEqual(["a", "c"]);
    expect(merged.waiting.map(({ id }) => id)).toEqual(["b", "d"]);
  });
});
