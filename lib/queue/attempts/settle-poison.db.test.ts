import { afterAll, expect, test } from "vitest";
import {
  type AttemptEnd,
  type ClaimedJob,
  enqueueJobs,
  getJob,
  listAttempts,
  settleAttempts,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { leaseOf, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";

const BATCH = 9;
const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
const { key } = await make.definition();
afterAll(() => make.close());

async function claimedBatch(): Promise<ClaimedJob[]> {
  const jobs = Array.from({ length: BATCH }, () => ({ definitionKey: key }));
  await enqueueJobs(make.web, scope, jobs);
  return make.claim("w", BATCH);
}

const nested = (depth: number): unknown => (depth === 0 ? 1 : { in: nested(depth - 1) });

const failed = (job: ClaimedJob, errorText: string): AttemptEnd => ({
  ...leaseOf(job),
  status: "failed",
  outcome: "dead_letter",
  spent: true,
  errorType: "internal",
  errorText,
});

/** Ends that the database would refuse unchanged, and what is stored for each. */
const POISON: readonly [what: string, end: (job: ClaimedJob) => AttemptEnd, stored: object][] = [
  ["a NUL in its error", (job) => failed(job, "no\0way"), { status: "dead_letter", last_error: "no\ufffdway" }],
  ["half a character in its error", (job) => failed(job, "no\ud800"), { last_error: "no\ufffd" }],
  ["a NUL in its result", (job) => ({ ...succeeded(job), result: { a: "\0" } }), { status: "succeeded" }],
  [
    "a result that is too large",
    (job) => ({ ...succeeded(job), result: "x".repeat(300_000) }),
    { status: "succeeded" },
  ],
  ["a result that is too deep", (job) => ({ ...succeeded(job), result: nested(5000) }), { status: "succeeded" }],
  ["a result that is no JSON", (job) => ({ ...succeeded(job), result: { n: 1n } }), { status: "succeeded" }],
  [
    "a number that no column holds",
    (job) => ({ ...succeeded(job), output: { pid: 2 ** 40 } }),
    { status: "succeeded" },
  ],
];

test.each(POISON)("an attempt with %s is stored, and so is the rest of its batch", async (_what, end, stored) => {
  const jobs = await claimedBatch();
  const poisoned = jobs[BATCH >> 1] as ClaimedJob;
  const ends = jobs.map((job) => (job === poisoned ? end(job) : succeeded(job)));
  expect((await settleAttempts(make.worker, ends)).settled.toSorted()).toEqual(jobs.map(({ jobId }) => jobId).sort());
  expect(await getJob(make.web, scope, poisoned.jobId)).toMatchObject(stored);
  for (const { jobId } of jobs) {
    expect(await listAttempts(make.web, scope, jobId)).toHaveLength(1);
    if (jobId !== poisoned.jobId) expect((await getJob(make.web, scope, jobId))?.status).toBe("succeeded");
  }
  const [left] = await database.query("select count(*)::int as n from app.live_jobs");
  expect(left?.n).toBe(0);
});
