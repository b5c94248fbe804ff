import { afterAll, expect, test } from "vitest";
import {
  cancelJob,
  getDeadLetter,
  getJob,
  listDeadLetters,
  listJobEvents,
  listJobs,
  previewBulkAction,
  redriveEdited,
  retryJob,
  settleAttempts,
  type TenantScope,
  triageDeadLetter,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { dead } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { bulkFixture } from "../actions/bulk-actions.fixture";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const { member, run } = await bulkFixture(database, make);

const failed = async (scope: TenantScope, job: Parameters<typeof make.runningJob>[1] = {}, errorType = "unknown") => {
  const claimed = await make.runningJob(scope, job);
  await settleAttempts(make.worker, [dead(claimed, errorType)]);
  return claimed.jobId;
};
const listed = async (scope: TenantScope, filter: Parameters<typeof listDeadLetters>[2] = {}) =>
  (await listDeadLetters(make.web, scope, filter, { limit: 50 })).letters.map((letter) => [
    letter.job.id,
    letter.status,
  ]);

test("a dead letter is pending until it is triaged, and each triage records its actor", async () => {
  const { scope, userId } = await member();
  const id = await failed(scope);
  expect(await listed(scope)).toEqual([[id, "pending"]]);
  await triageDeadLetter(make.web, scope, { jobId: id, status: "investigating" });
  const letter = await triageDeadLetter(make.web, scope, { jobId: id, note: "the disk was full" });
  expect(letter).toMatchObject({ status: "investigating", note: "the disk was full", changed_at: expect.any(Date) });
  const [person] = await database.query<{ email: string }>("select email from app.users where id = $1", [userId]);
  expect(letter.changed_by).toBe(person?.email);
  expect(await listJobEvents(make.web, scope, id)).toMatchObject([
    { action: "triage", from: "investigating", to: "investigating", note: "the disk was full", actor: person?.email },
    { action: "triage", from: "pending", to: "investigating", note: null, actor: person?.email },
  ]);
});

test("triage of a run does not carry over to the next run", async () => {
  const { scope } = await member();
  const id = await failed(scope);
  await triageDeadLetter(make.web, scope, { jobId: id, status: "ignored", note: "old" });
  await retryJob(make.web, scope, { jobId: id });
  expect(await listed(scope)).toEqual([]);
  await expect(triageDeadLetter(make.web, scope, { jobId: id, status: "resolved" })).rejects.toMatchObject({
    code: "state-conflict",
    current: "queued",
  });
  const again = (await make.claim("w")).find((job) => job.jobId === id);
  if (!again) throw new Error("not claimed");
  await settleAttempts(make.worker, [dead(again)]);
  expect(await getDeadLetter(make.web, scope, id)).toMatchObject({ status: "pending", note: "" });
  expect(await triageDeadLetter(make.web, scope, { jobId: id, status: "resolved" })).toMatchObject({ note: "" });
});

test("the list filters by status, definition and error type, and has pages", async () => {
  const { scope } = await member();
  const { key: other } = await make.definition();
  const first = await failed(scope, {}, "timeout");
  const second = await failed(scope, { definitionKey: other }, "timeout");
  const third = await failed(scope);
  const canceled = await make.job(scope);
  await cancelJob(make.web, scope, canceled.id);
  await triageDeadLetter(make.web, scope, { jobId: third, status: "resolved" });
  expect((await listed(scope)).map(([id]) => id)).toEqual([third, second, first]);
  expect(await listed(scope, { status: ["resolved"] })).toEqual([[third, "resolved"]]);
  expect((await listed(scope, { status: ["pending", "investigating"] })).map(([id]) => id)).toEqual([second, first]);
  expect(await listed(scope, { definition_key: other })).toEqual([[second, "pending"]]);
  expect(await listed(scope, { error_type: "timeout", definition_key: other })).toEqual([[second, "pending"]]);
  const page = await listDeadLetters(make.web, scope, {}, { limit: 1, afterId: third });
  expect([page.letters[0]?.job.id, page.hasMore, page.total]).toEqual([second, true, 3]);
});

test("redrive retries those of a definition, the given ids, or all that match, and no others", async () => {
  const { scope } = await member();
  const { key: other } = await make.definition();
  const [first, second, third] = [
    await failed(scope),
    await failed(scope, { definitionKey: other }),
    await failed(scope, {}, "timeout"),
  ];
  const statuses = async () =>
    Promise.all([first, second, third].map(async (id) => (await getJob(make.web, scope, id))?.status));
  const redrive = (deadLetters: object) => run(scope, { action: "redrive", target: { dead_letters: deadLetters } });
  const preview = { action: "redrive", target: { dead_letters: { error_type: "timeout" } } } as const;
  expect(await previewBulkAction(make.web, scope, preview)).toMatchObject({ count: 1, isExact: true });
  expect(await redrive({ definitionKey: other })).toMatchObject({ status: "done", done: 1, skipped: 0 });
  expect(await statuses()).toEqual(["dead_letter", "queued", "dead_letter"]);
  await triageDeadLetter(make.web, scope, { jobId: third, status: "ignored" });
  expect(await redrive({ status: ["pending"] })).toMatchObject({ done: 1 });
  expect(await statuses()).toEqual(["queued", "queued", "dead_letter"]);
  expect(await run(scope, { action: "redrive", target: { job_ids: [first, third] } })).toMatchObject({
    done: 1,
    skipped: 1,
  });
  const [event] = await listJobEvents(make.web, scope, third);
  expect(event).toMatchObject({ action: "redrive", from: "dead_letter", to: "queued" });
});

test("redrive with another payload creates a new job, and the dead letter is resolved with a note about it", async () => {
  const { scope } = await member();
  const settings = { tags: ["a"], timeoutSeconds: 77, retryDelaySeconds: 5, retryMultiplier: 3, correlationId: "c" };
  const id = await failed(scope, { payload: { a: 1 }, ...settings });
  const made = await redriveEdited(make.web, scope, { jobId: id, payload: { a: 2 } });
  expect(made).toMatchObject({
    status: "queued",
    retried_from_id: id,
    payload: { a: 2 },
    tags: ["a"],
    timeout_seconds: 77,
    correlation_id: "c",
  });
  expect(await getDeadLetter(make.web, scope, id)).toMatchObject({
    status: "resolved",
    note: expect.stringContaining(made.id),
  });
  await expect(redriveEdited(make.web, scope, { jobId: made.id, payload: {} })).rejects.toMatchObject({
    code: "state-conflict",
  });
});

test("edit and retry creates a linked job from a dead letter or canceled job, and from no other status", async () => {
  const { scope } = await member();
  const dead = await failed(scope);
  const canceled = await make.job(scope);
  await cancelJob(make.web, scope, canceled.id);
  for (const jobId of [dead, canceled.id]) {
    const { job, created } = await retryJob(make.web, scope, { jobId, payload: { edited: true } });
    expect([created, job.retried_from_id, job.payload]).toEqual([true, jobId, { edited: true }]);
    await expect(retryJob(make.web, scope, { jobId: job.id, payload: {} })).rejects.toMatchObject({
      current: "queued",
    });
  }
  expect((await getJob(make.web, scope, dead))?.status).toBe("dead_letter");
});

test("an edited retry resolves its dead letter, each refers to the other, and an existing note is kept", async () => {
  const { scope } = await member();
  const [plain, noted] = [await failed(scope), await failed(scope)];
  await triageDeadLetter(make.web, scope, { jobId: noted, note: "Ask the bank" });
  for (const [jobId, note] of [
    [plain, null],
    [noted, "Ask the bank"],
  ] as const) {
    const { job } = await retryJob(make.web, scope, { jobId, payload: { edited: true } });
    const letter = await getDeadLetter(make.web, scope, jobId);
    expect(letter).toMatchObject({ status: "resolved", note: note ?? expect.stringContaining(job.id) });
  }
  const newest = (await retryJob(make.web, scope, { jobId: plain, payload: { again: true } })).job;
  expect((await getJob(make.web, scope, plain))?.retried_by_id).toBe(newest.id);
  const resolved = await listDeadLetters(make.web, scope, { status: ["resolved"] }, { limit: 10 });
  expect(resolved.letters.find(({ job }) => job.id === plain)?.retried_by_id).toBe(newest.id);
  const retries = await listJobs(make.web, scope, { retried_from_id: plain }, { limit: 10 });
  expect(retries.jobs.map((job) => [job.id === newest.id, job.retried_from_id])).toEqual([
    [true, plain],
    [false, plain],
  ]);
  const open = await listDeadLetters(make.web, scope, { status: ["pending", "investigating"] }, { limit: 10 });
  expect(open.letters).toEqual([]);
});

test("RLS-1 another tenant's dead letter is not found, for reading and for every action", async () => {
  const [{ scope }, other] = [await member(), await member()];
  const id = await failed(scope);
  expect(await getDeadLetter(make.web, other.scope, id)).toBeNull();
  expect(await listed(other.scope)).toEqual([]);
  expect(await listJobEvents(make.web, other.scope, id)).toEqual([]);
  const verbs = [
    () => triageDeadLetter(make.web, other.scope, { jobId: id, status: "resolved" }),
    () => redriveEdited(make.web, other.scope, { jobId: id, payload: {} }),
  ];
  for (const verb of verbs) await expect(verb()).rejects.toMatchObject({ code: "not-found" });
  expect(await run(other.scope, { action: "redrive", target: { dead_letters: {} } })).toMatchObject({ done: 0 });
  expect(await listed(scope)).toEqual([[id, "pending"]]);
});

test("a note that cannot be stored is refused", async () => {
  const { scope } = await member();
  const jobId = await failed(scope);
  for (const note of ["\u0000", "x".repeat(2001)]) {
    const noting = async () => triageDeadLetter(make.web, scope, { jobId, note });
    await expect(noting()).rejects.toMatchObject({ code: "invalid-value", problems: [{ pointer: "/note" }] });
  }
});
