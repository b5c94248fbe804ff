import { describe, expect, test } from "vitest";
import { type Database, DatabaseError, type Statement } from "@/lib/db";
import { stemOf } from "@/lib/db/statement";
import { enqueueTogether } from "./enqueue-together";
import type { EnqueuedRow } from "./insert-items";
import type { NewJobItem } from "./new-job-item";

interface Sent {
  readonly verb: string;
  readonly tenantId: unknown;
  readonly payloads: unknown[];
}

const PAYLOAD_AT = 7;
const invalid = () => new DatabaseError({ kind: "invalid", sqlState: "22P05" });

type Refusal = DatabaseError | Promise<never> | undefined;

/**
 * A database that returns one job per payload, named after it, and fails a statement with a payload that `refuses`
 * matches.
 */
function fakeDatabase(refuses: (payload: unknown, statement: number) => Refusal = () => undefined) {
  const sent: Sent[] = [];
  const run = async ({ name }: Statement, values: readonly unknown[]) => {
    const verb = stemOf(name);
    if (verb === "wake") return [];
    const given = JSON.parse(String(values[PAYLOAD_AT]));
    const payloads: unknown[] = verb === "enqueue_job" ? [given] : given;
    sent.push({ verb, tenantId: values[0], payloads });
    await new Promise((resolve) => setImmediate(resolve));
    const refusal = payloads.map((payload) => refuses(payload, sent.length)).find((error) => error !== undefined);
    if (refusal) throw await refusal;
    const common = { ready: true, lane_no: 1, queued_at: new Date(0), scheduled_for: new Date(0), priority: 100 };
    return verb === "enqueue_job"
      ? [{ ...common, job_id: `job-${given}`, state: "queued" }]
      : [{ ...common, new_ids: `{${payloads.map((payload) => `job-${payload}`).join(",")}}` }];
  };
  return { db: { run } as unknown as Database, sent };
}

const item = (payload: unknown, more: Partial<NewJobItem> = {}) =>
  ({ definition_id: "d", definition_version: 1, source: "manual", payload, ...more }) as NewJobItem;
const numbers = (n: number) => Array.from({ length: n }, (_, index) => index);
const idsOf = (rows: EnqueuedRow[]) => rows.map(({ job_id }) => job_id);

describe("concurrent calls", () => {
  test("share statements, and each returns its own job", async () => {
    const { db, sent } = fakeDatabase();
    const rows = await Promise.all(numbers(250).map((n) => enqueueTogether(db, "t", item(n))));
    expect(idsOf(rows)).toEqual(numbers(250).map((n) => `job-${n}`));
    expect(sent.map(({ payloads }) => payloads.length)).toEqual([100, 100, 50]);
  });

  test("a single call uses the statement for one job", async () => {
    const { db, sent } = fakeDatabase();
    await enqueueTogether(db, "t", item(1));
    await enqueueTogether(db, "t", item(2));
    expect(sent.map(({ verb }) => verb)).toEqual(["enqueue_job", "enqueue_job"]);
  });

  test("do not share a statement across tenants or with different settings", async () => {
    const { db, sent } = fakeDatabase();
    const at = (ms: number) => ({ scheduled_for: new Date(ms) });
    await Promise.all([
      enqueueTogether(db, "one", item(1)),
      enqueueTogether(db, "two", item(2)),
      enqueueTogether(db, "one", item(3, { definition_version: 2 })),
      enqueueTogether(db, "one", item(4, at(1))),
      enqueueTogether(db, "one", item(5, at(2))),
      enqueueTogether(db, "one", item(6, at(2))),
    ]);
    expect(sent.map(({ tenantId, payloads }) => [tenantId, payloads])).toEqual([
      ["one", [1]],
      ["two", [2]],
      ["one", [3]],
      ["one", [4]],
      ["one", [5, 6]],
    ]);
  });

  test("share a statement up to a quarter of a million characters of payload", async () => {
    const { db, sent } = fakeDatabase();
    const large = "x".repeat(200_000);
    await Promise.all([large, large, "a", "b"].map((payload) => enqueueTogether(db, "t", item(payload))));
    expect(sent.map(({ payloads }) => payloads.length)).toEqual([1, 3]);
  });
});

test("a call does not wait for other statements that hang", async () => {
  const { db } = fakeDatabase((payload) => (payload === "hangs" ? new Promise<never>(() => {}) : undefined));
  void enqueueTogether(db, "t", item("hangs"));
  await new Promise((resolve) => setImmediate(resolve));
  void enqueueTogether(db, "t", item("hangs"));
  await new Promise((resolve) => setImmediate(resolve));
  const later = await Promise.all(["a", "b"].map((payload) => enqueueTogether(db, "t", item(payload))));
  expect(idsOf(later)).toEqual(["job-a", "job-b"]);
});

describe("a failing statement", () => {
  test("rejects only the item that the database refused", async () => {
    const { db } = fakeDatabase((payload) => (payload === 2 ? invalid() : undefined));
    const answers = await Promise.allSettled(numbers(5).map((n) => enqueueTogether(db, "t", item(n))));
    expect(answers.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
      "fulfilled",
    ]);
  });

  test("rejects all of its calls without a retry when the error concerns all of them or its outcome is unknown", async () => {
    for (const error of [
      new DatabaseError({ kind: "other", sqlState: "LH002" }),
      new DatabaseError({ kind: "unavailable", connectionLost: true }),
      new DatabaseError({ kind: "timeout", sqlState: "57014" }),
    ]) {
      const { db, sent } = fakeDatabase((_payload, statement) => (statement === 1 ? error : undefined));
      const answers = await Promise.allSettled(numbers(3).map((n) => enqueueTogether(db, "t", item(n))));
      expect(answers).toEqual(numbers(3).map(() => ({ status: "rejected", reason: error })));
      expect(sent).toHaveLength(1);
      await expect(enqueueTogether(db, "t", item(9))).resolves.toMatchObject({ job_id: "job-9" });
    }
  });
});

test("PAYLOAD-11 a payload that its caller changes meanwhile is stored as it was checked, alone or in a batch", async () => {
  const { db, sent } = fakeDatabase();
  const payload = { n: 1 };
  const alone = enqueueTogether(db, "t", item(payload));
  payload.n = 2;
  await alone;
  const both = [enqueueTogether(db, "t", item(payload)), enqueueTogether(db, "t", item("other"))];
  payload.n = 3;
  await Promise.all(both);
  expect(sent.map(({ payloads }) => payloads)).toEqual([[{ n: 1 }], [{ n: 2 }, "other"]]);
});
