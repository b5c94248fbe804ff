import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { startWeb } from "@/e2e/api/web";
import { waitFor } from "@/lib/testing/processes";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { nothingLeftOf, openStage, processesOf, readDiary } from "./stage";

const TERM_WITHIN_MS = 2000;
const stage = await openStage();
await stage.define("fails", {
  command_key: "act",
  max_attempts: 3,
  retry: { strategy: "exponential", delay_seconds: 0.3, multiplier: 3, max_delay_seconds: 60, jitter: 0 },
});
const make = accountsIn(stage.database);
const admin = await make.user({ roles: { [stage.scope.tenantId]: "admin" } });
const { key } = await make.key(admin, { tenantId: stage.scope.tenantId });
const web = await startWeb(stage.database);
await stage.startScheduler();
const worker = await stage.startWorker({ WORKER_CONCURRENCY: "20" });
afterAll(() => expect(worker.child.exitCode).toBeNull());

const post = (jobId: string, act: "cancel" | "retry") =>
  web.call("POST", `/api/v1/jobs/${jobId}/${act}`, { key, body: {} });

test("a failing job is retried after growing delays, ends as a dead letter, and can be retried manually", async () => {
  const jobId = await stage.enqueue("fails", { exit: 3 });
  const ended = await stage.settled(jobId);
  expect([ended.status, ended.attempt_count, ended.error_type]).toEqual(["dead_letter", 3, "unknown"]);
  const attempts = await stage.attempts(jobId);
  expect(attempts.map(({ status, exit_code: exitCode }) => [status, exitCode])).toEqual(Array(3).fill(["failed", 3]));
  expect(attempts[0]?.stderr_tail).toContain("ending badly");
  const times = attempts.map(({ claimed_at: claimedAt, finished_at: finishedAt }) => ({
    from: Date.parse(claimedAt),
    to: Date.parse(finishedAt ?? ""),
  }));
  const pauses = times.slice(1).map(({ from }, index) => from - (times[index]?.to ?? 0));
  expect(pauses[0]).toBeGreaterThanOrEqual(300);
  expect(pauses[1]).toBeGreaterThanOrEqual(900);
  expect(pauses[1]).toBeLessThan(900 + 3000);

  const again = await post(jobId, "retry");
  expect([again.status, again.body.id, again.body.run_no, again.body.status]).toEqual([200, jobId, 2, "queued"]);
  const second = await stage.settled(jobId);
  expect([second.status, second.run_no, second.attempt_count]).toEqual(["dead_letter", 2, 3]);
  expect((await stage.attempts(jobId)).map(({ run_no }) => run_no)).toEqual([1, 1, 1, 2, 2, 2]);
});

test("cancel sends SIGTERM to the whole process group within two seconds, and no process is left", async () => {
  const diary = stage.diaryFile("cancel");
  const jobId = await stage.act({ run_ms: 60_000, diary, child: true });
  await stage.running(jobId);
  await waitFor(() => readDiary(diary).some(({ what }) => what === "child-start"));
  expect((await post(jobId, "cancel")).status).toBe(200);
  const canceledAt = Date.now();
  const job = await stage.settled(jobId);
  expect(job.status).toBe("canceled");
  const noted = readDiary(diary);
  const term = noted.find(({ what }) => what === "term");
  expect(term?.at).toBeLessThanOrEqual(canceledAt + TERM_WITHIN_MS);
  expect(noted.filter(({ what }) => what === "child-term")).toHaveLength(1);
  expect(processesOf(jobId)).toEqual([]);
  expect(await stage.statuses(jobId)).toEqual(["canceled"]);
  console.info(`TERM came ${(term?.at ?? 0) - canceledAt} ms after the answer to the cancel`);
});

test("a command that ignores SIGTERM is killed after its grace period", async () => {
  const diary = stage.diaryFile("stubborn");
  const jobId = await stage.act({ run_ms: 60_000, diary, child: true, on_term: "ignore" });
  await waitFor(() => readDiary(diary).some(({ what }) => what === "tick"));
  await post(jobId, "cancel");
  const job = await stage.settled(jobId);
  expect(job.status).toBe("canceled");
  expect(processesOf(jobId)).toEqual([]);
  const [term, last] = [readDiary(diary).find(({ what }) => what === "term"), readDiary(diary).at(-1)];
  const outlived = (last?.at ?? 0) - (term?.at ?? 0);
  expect(outlived).toBeGreaterThan(700);
  expect(outlived).toBeLessThan(3000);
});

test("a job canceled while it waits never runs", async () => {
  const jobId = await stage.act({}, { scheduledFor: new Date(Date.now() + 3_600_000) });
  const answer = await post(jobId, "cancel");
  expect(answer.body.status).toBe("canceled");
  expect(await stage.logs(jobId)).toEqual([]);
});

test("SUBPROC-23 a cancel at any moment around the start leaves no process and no job that hangs", {
  timeout: 240_000, // of 200 cancels; each has ten seconds
}, async () => {
  const startedAlready = { n: 0 };
  const one = async (round: number) => {
    const jobId = await stage.enqueue("nap", { seconds: 300 });
    await waitFor(async () => (await stage.read(jobId)).status === "running", { what: `claim of ${jobId}` });
    await sleep(round % 21);
    if (processesOf(jobId).length > 0) startedAlready.n += 1;
    await stage.cancel(jobId);
    const job = await stage.settled(jobId, 10_000);
    expect(job.status).toBe("canceled");
    expect(processesOf(jobId), `round ${round}`).toEqual([]);
    await nothingLeftOf(jobId);
  };
  for (let round = 0; round < 200; round += 10) {
    await Promise.all(Array.from({ length: 10 }, (_, index) => one(round + index)));
  }
  console.info(`of 200 cancels, ${startedAlready.n} came after the process was there`);
});
