import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { type Database, DatabaseError, type Statement } from "@/lib/db";
import {
  type ClaimedJob,
  getJob,
  listAttempts,
  readLogs,
  rescueExpiredLeases,
  settleAttempts,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { retried } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { AttemptOutputWriter } from "./attempt-output";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
afterAll(() => make.close());

let job: ClaimedJob;
let lost: number;
beforeEach(async () => {
  job = await make.runningJob(scope);
  lost = 0;
});

function writer({ db = make.worker, mostBytes = 10_000 }: { db?: Database; mostBytes?: number } = {}) {
  const onLost = () => {
    lost += 1;
  };
  return new AttemptOutputWriter({ db, lease: job, laneNo: job.laneNo, mostBytes, onLost });
}

const stored = async () =>
  ((await readLogs(make.web, scope, job.jobId))?.lines ?? []).map(({ stream, body }) => [stream, body]);

/** A database whose next writes of output fail after they were stored: only their answers are lost. */
function losingAnswers(times: number): Database {
  let left = times;
  return {
    ...make.worker,
    run: async <R extends object>(statement: Statement, values?: readonly unknown[]) => {
      const rows = await make.worker.run<R>(statement, values);
      if (!statement.name.startsWith("append_logs") || left-- <= 0) return rows;
      throw new DatabaseError({ kind: "unavailable", connectionLost: true });
    },
  };
}

describe("live output of an attempt", () => {
  test("is stored soon, in order, joined by stream, with the latest progress", async () => {
    const output = writer();
    output.write({ stream: "stdout", body: "one " });
    output.write({ stream: "stdout", body: "two" });
    output.write({ stream: "stderr", body: "three" });
    output.write({ stream: "log", level: "info", body: "four" });
    output.write({ stream: "log", level: "info", body: "five" });
    for (let percent = 1; percent <= 40; percent += 1) output.report(percent, `at ${percent}`);
    const began = performance.now();
    await waitFor(async () => (await stored()).length > 0);
    expect(performance.now() - began).toBeLessThan(300 * 5);
    expect(await stored()).toEqual([
      ["stdout", "one two"],
      ["stderr", "three"],
      ["log", "four"],
      ["log", "five"],
    ]);
    await output.end();
    expect((await getJob(make.web, scope, job.jobId))?.progress).toEqual({ percent: 40, message: "at 40" });
  });

  test("a running attempt shows its process and, on request, the tails of its output", async () => {
    const output = writer({ mostBytes: 1_000_000 });
    output.spawned(4711);
    for (const body of ["a".repeat(150_000), "b".repeat(150_000), "c"]) {
      output.write({ stream: "stdout", body });
      output.write({ stream: "stderr", body: "warning\n" });
    }
    output.report(40, "half");
    const attempt = async (tails: boolean) => (await listAttempts(make.web, scope, job.jobId, { tails }))?.[0];
    await waitFor(async () => (await attempt(false))?.progress !== null);
    expect(await attempt(false)).toMatchObject({ status: "running", pid: 4711, stdout_tail: null, stderr_tail: null });
    const { stdout_tail: stdoutTail, ...others } = (await attempt(true)) ?? {};
    expect(stdoutTail).toBe(`${"a".repeat(46_607)}${"b".repeat(150_000)}c`);
    expect(others).toMatchObject({
      stderr_tail: "warning\nwarning\nwarning\n",
      progress: { percent: 40, message: "half" },
    });
    await settleAttempts(make.worker, [retried(job, 60)]);
    await database.query("update app.live_jobs set ready = true where job_id = $1", [job.jobId]);
    await make.claim("the next");
    expect(await listAttempts(make.web, scope, job.jobId, { tails: true })).toMatchObject([
      { status: "running", pid: null, stdout_tail: null, progress: null },
      { status: "failed", progress: { percent: 40, message: "half" } },
    ]);
  });

  test("P-04 is truncated at its limit, reports it once, and counts the rest", async () => {
    const output = writer({ mostBytes: 110 });
    for (let n = 0; n < 5; n += 1) output.write({ stream: "stdout", body: "12345🎉" });
    output.write({ stream: "log", level: "info", body: "lost", context: { n: 1 } });
    await output.end();
    const lines = (await readLogs(make.web, scope, job.jobId))?.lines ?? [];
    expect(lines.map(({ stream, level, body, context }) => [stream, level, body, context])).toEqual([
      ["stdout", null, "12345🎉1", null],
      ["log", "warn", "The log of this attempt is full.", null],
      [
        "log",
        "warn",
        "46 bytes of output were dropped from the log.",
        { dropped_bytes: { stdout: 35, stderr: 0, log: 11 } },
      ],
    ]);
    expect(output.droppedLogBytes).toBe(11);
  });

  test("P-04 keeps the level, context and attempt of each message", async () => {
    const output = writer();
    for (const level of ["debug", "info", "warn", "error"] as const)
      output.write({ stream: "log", level, body: level, context: { of: level } });
    await output.end();
    const lines = (await readLogs(make.web, scope, job.jobId))?.lines ?? [];
    expect(lines.map(({ attempt_no: attemptNo, level, body, context }) => [attemptNo, level, body, context])).toEqual(
      ["debug", "info", "warn", "error"].map((level) => [job.leaseNo, level, level, { of: level }]),
    );
  });

  test("P-04 limits a single message too, including its context", async () => {
    const output = writer({ mostBytes: 1100 });
    output.write({ stream: "log", level: "info", body: "x".repeat(5000), context: { big: "y".repeat(5000) } });
    await output.end();
    const lines = (await readLogs(make.web, scope, job.jobId))?.lines ?? [];
    expect(lines.map(({ body }) => body.length)).toEqual([1000, 32, expect.any(Number)]);
    expect(output.droppedLogBytes).toBe(4000 + JSON.stringify({ big: "y".repeat(5000) }).length);
  });

  test.each([
    ["empty messages", { stream: "log", level: "info", body: "" }, undefined],
    ["lines of alternating streams", { stream: "stdout", body: "" }, { stream: "stderr", body: "" }],
  ] as const)("P-04 limits %s, because each stored line counts", async (_what, line, other) => {
    const output = writer({ mostBytes: 1000 });
    for (let n = 0; n < 100; n += 1) output.write(n % 2 === 1 && other ? other : line);
    await output.end();
    const bodies = (await stored()).map(([, body]) => body);
    expect(bodies).toEqual([
      ...Array.from({ length: 10 }, () => ""),
      "The log of this attempt is full.",
      "90 bytes of output were dropped from the log.",
    ]);
  });

  test("is sent again when its answer was lost, also at the end, and stored once", async () => {
    const output = writer({ db: losingAnswers(3) });
    output.write({ stream: "stdout", body: "first" });
    await waitFor(async () => (await stored()).length > 0);
    output.write({ stream: "stdout", body: "last" });
    output.report(50, null);
    await output.end();
    expect(await stored()).toEqual([
      ["stdout", "first"],
      ["stdout", "last"],
    ]);
    expect((await getJob(make.web, scope, job.jobId))?.progress?.percent).toBe(50);
    expect(lost).toBe(0);
  });

  test("progress is sent again when it failed to arrive, also the last", async () => {
    let failures = 1;
    const run: Database["run"] = async (statement, values) => {
      if (statement.name.startsWith("report_progress") && failures-- > 0)
        throw new DatabaseError({ kind: "unavailable" });
      return make.worker.run(statement, values);
    };
    const output = writer({ db: { ...make.worker, run } });
    output.report(90, "nearly");
    await output.end();
    expect((await getJob(make.web, scope, job.jobId))?.progress).toEqual({ percent: 90, message: "nearly" });
  });

  test("LEASE-01 of a lost lease is refused, and its attempt learns of it", async () => {
    const output = writer();
    await database.query("update app.live_jobs set lease_expires_at = app.now() - interval '1 s' where job_id = $1", [
      job.jobId,
    ]);
    await rescueExpiredLeases(make.worker, { limit: 10, random: () => 0 });
    output.write({ stream: "stdout", body: "late" });
    await output.end();
    expect([await stored(), lost]).toEqual([[], 1]);
  });
});
