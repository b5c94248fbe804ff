import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { settleAttempts } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { retried, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { type Bound, type CheckOptions, expectSound, inspect } from "./index";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
const { key } = await make.definition({ key: "speaks", command_key: "speak" });
afterAll(() => make.close());

/** Creates one job that ended after a retry, one that is running, and one that waits and holds a dedupe key. */
async function someJobs() {
  const first = await make.runningJob(scope, { definitionKey: key });
  await settleAttempts(make.worker, [{ ...retried(first, 0), output: { stdoutTail: "1\n" } }]);
  const [again] = await make.claim("w");
  if (!again) throw new Error("nothing was claimed");
  await settleAttempts(make.worker, [{ ...succeeded(again), output: { stdoutTail: "2\n" } }]);
  const running = await make.runningJob(scope, { definitionKey: key });
  const waiting = await make.job(scope, { definitionKey: key, dedupeKey: "k" });
  return { ended: first.jobId, running: running.jobId, waiting: waiting.id };
}

const jobs = await someJobs();
const { ended, running, waiting } = jobs;

/** Returns the names of the rules broken by a change. The change is rolled back. */
async function brokenBy(text: string, values: unknown[] = [], options: CheckOptions = {}): Promise<string[]> {
  const client = new pg.Client({ connectionString: database.adminUrl });
  await client.connect();
  try {
    await client.query("begin");
    await client.query(text, values);
    const query: typeof database.query = async (...args) => (await client.query(...args)).rows;
    const { counts } = await inspect({ query }, { speakers: ["speak"], ...options });
    return Object.keys(counts).filter((name) => counts[name] !== 0);
  } finally {
    await client.end();
  }
}
const broken = (options: CheckOptions) => brokenBy("select 1", [], options);

test("the queue's own operations break no rule", async () => {
  const verdict = await expectSound(database, { accepted: [ended, running, waiting], speakers: ["speak"] });
  expect([verdict.jobs, verdict.attempts]).toEqual([3, 2]);
  expect(Object.keys(verdict.counts).length).toBeGreaterThan(9);
});

const BREAKS: readonly [rule: string, text: string, of: keyof typeof jobs][] = [
  ["lost", "delete from app.live_jobs where job_id = $1", "running"],
  ["lost", "delete from app.job_attempts where job_id = $1", "ended"],
  [
    "ended twice",
    `insert into app.job_attempts (job_id, attempt_no, tenant_id, run_no, status, outcome, worker_id, claimed_at)
     select job_id, 3, tenant_id, run_no, status, outcome, worker_id, app.now() from app.job_attempts
     where job_id = $1 and attempt_no = 2`,
    "ended",
  ],
  [
    "live and ended",
    `insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for, lease_no)
     select id, tenant_id, lane_no, 'queued', true, 0, 100, app.now(), 2 from app.jobs where id = $1`,
    "ended",
  ],
  ["without a record", "delete from app.jobs where id = $1", "ended"],
  [
    "start inside a live lease",
    "update app.job_attempts set finished_at = finished_at + interval '1 s' where job_id = $1 and attempt_no = 1",
    "ended",
  ],
  [
    "lease numbers",
    `insert into app.job_attempts (job_id, attempt_no, tenant_id, run_no, status, worker_id, claimed_at, finished_at)
     select job_id, lease_no, tenant_id, run_no, 'failed', 'w', claimed_at - interval '9 s', claimed_at - interval '8 s'
     from app.live_jobs where job_id = $1`,
    "running",
  ],
  [
    "too many attempts",
    `insert into app.job_attempts (job_id, attempt_no, tenant_id, run_no, status, worker_id, claimed_at, finished_at)
     select id, n + 10, tenant_id, 1, 'failed', 'w', app.now() + n * interval '1 s', app.now() + n * interval '1 s'
     from app.jobs, generate_series(1, 2) n where id = $1`,
    "ended",
  ],
  ["too many attempts", "update app.live_jobs set attempts_spent = 4 where job_id = $1", "waiting"],
  ["key of an ended job", "delete from app.live_jobs where job_id = $1", "waiting"],
  ["key of an ended job", "delete from app.dedupe_keys where job_id = $1", "waiting"],
  [
    "stale settle accepted",
    "update app.job_attempts set stdout_tail = E'1\\n' where job_id = $1 and attempt_no = 2",
    "ended",
  ],
  [
    "stale settle accepted",
    `insert into app.job_logs (job_id, attempt_no, seq, tenant_id, stream, body)
     select id, 2, 0, tenant_id, 'stdout', '1' from app.jobs where id = $1`,
    "ended",
  ],
  ["blocked for ever", "update app.live_jobs set state = 'blocked', ready = false where job_id = $1", "waiting"],
  ["accepted twice", "update app.jobs set correlation_id = 'once:1' where $1::uuid is not null", "ended"],
  [
    "figures",
    "insert into app.job_stat_deltas select tenant_id, definition_id, app.now(), 'queued', 1 from app.jobs where id = $1",
    "ended",
  ],
];

test.each(BREAKS)("a violation of the rule %s is found (%#)", async (rule, text, of) => {
  expect(await brokenBy(text, [jobs[of]])).toContain(rule);
});

test("an accepted job that is missing, and one that has not ended, are found", async () => {
  expect(await broken({ accepted: [waiting, crypto.randomUUID()] })).toEqual(["lost"]);
  expect(await broken({ over: true })).toEqual(["not over"]);
  await expect(expectSound(database, { over: true })).rejects.toThrow("not over");
});

const limitsOf = async (names: Promise<string[]>) => (await names).filter((name) => name.startsWith("limit "));

test("ended, lost and current leases count together against a limit", async () => {
  const text = `insert into app.job_attempts (job_id, attempt_no, tenant_id, run_no, status, worker_id, claimed_at, finished_at)
     select job_id, 9, tenant_id, 1, 'worker_lost', 'w', app.now(), app.now() + interval '1 s' from app.live_jobs where job_id = $1`;
  const added = (...bounds: Bound[]) => limitsOf(brokenBy(text, [waiting], { bounds }));
  expect(await added({ name: "two", running: 2 })).toEqual([]);
  const others = { tenantId: crypto.randomUUID(), running: 0, name: "others" };
  const past = { running: 0, to: new Date(0), name: "past" };
  expect(await added({ name: "one", running: 1 }, others, past)).toEqual(["limit one"]);
  expect(await added({ name: "one", queue: "default", definitionKey: key, running: 1 })).toEqual(["limit one"]);
});
