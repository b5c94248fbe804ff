import { expect, test } from "vitest";
import { contentKey } from "@/lib/queue/testing";
import { checkNewJob } from "../enqueue/new-job.policy";

const problemsOf = (dedupeKey: string): string[] => {
  try {
    checkNewJob({ definitionKey: "any", dedupeKey }, { at: "", validate: () => [] });
    return [];
  } catch (error) {
    return (error as { problems: { pointer: string; code: string }[] }).problems.map(
      ({ pointer, code }) => `${pointer} ${code}`,
    );
  }
};

test("G-02 equal content has the same key, other content another, and the key is accepted as a dedupe key", () => {
  const key = contentKey({ file: "a.csv", rows: [1, 2] });
  expect(key).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(contentKey({ rows: [1, 2], file: "a.csv" })).toBe(key);
  expect(contentKey({ file: "a.csv", rows: [2, 1] })).not.toBe(key);
  expect(contentKey("x".repeat(1_000_000))).toHaveLength(key.length);
  expect(problemsOf(key)).toEqual([]);
});

test("G-02 content that is not JSON has no key", () => {
  expect(() => contentKey({ n: Number.NaN })).toThrow(expect.objectContaining({ code: "payload-invalid" }));
});

test("G-02 a key with invisible characters is refused", () => {
  for (const key of ["a\nb", "a\tb", "a\u200bb", "a\u202eb", "\ufeffa"]) {
    expect(problemsOf(key), JSON.stringify(key)).toEqual(["/dedupe_key format"]);
  }
  for (const key of ["a b", "a b ", "tenant:bcg:training:daily", "ключ", "鍵-1", "🎉"])
    expect(problemsOf(key)).toEqual([]);
});
