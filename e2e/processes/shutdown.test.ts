import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { waitFor } from "@/lib/testing/processes";
import { nothingLeftOf, openStage, processesOf, readDiary } from "./stage";

const DEPLOYS = 5;
const stage = await openStage();
await stage.startScheduler();

test("SIGTERM lets short jobs end, gives long ones back unspent, and exits 0 within the grace", async () => {
  const worker = await stage.startWorker({ SHUTDOWN_GRACE_SECONDS: "6" });
  const short = await stage.act({ run_ms: 1500 });
  const long = await stage.act({ run_ms: 60_000, diary: stage.diaryFile("long") });
  for (const id of [short, long]) await stage.running(id);
  const waiting = async () => stage.enqueue("quick");
  const began = Date.now();
  const ended = worker.stop();
  await waitFor(() => worker.output().includes("draining"));
  const later = await waiting();
  expect(await ended).toEqual({ code: 0, signal: null });
  expect(Date.now() - began).toBeLessThan(6000);

  expect((await stage.read(short)).status).toBe("succeeded");
  const given = await stage.read(long);
  expect([given.status, given.attemptCount]).toEqual(["queued", 0]);
  expect(await stage.statuses(long)).toEqual(["released"]);
  expect(readDiary(stage.diaryFile("long")).some(({ what }) => what === "term")).toBe(true);
  expect(processesOf(long)).toEqual([]);
  expect(await stage.attempts(later)).toEqual([]);
  const [row] = await stage.database.query("select stopped_at from app.job_workers where worker_id = $1", [
    worker.workerId,
  ]);
  expect(row?.stopped_at).not.toBeNull();
  for (const id of [long, later]) await stage.cancel(id);
});

test("LEASE-10 five deploys during a long job leave its three attempts untouched", async () => {
  const jobId = await stage.act({ run_ms: 60_000, from_attempt: DEPLOYS + 1, then_ms: 10 }, { maxAttempts: 3 });
  for (let deploy = 1; deploy <= DEPLOYS; deploy += 1) {
    const worker = await stage.startWorker({ SHUTDOWN_GRACE_SECONDS: "1" });
    await stage.running(jobId);
    expect((await worker.stop()).code).toBe(0);
    await nothingLeftOf(jobId, 500);
  }
  const last = await stage.startWorker();
  const job = await stage.settled(jobId);
  expect([job.status, job.attemptCount]).toEqual(["succeeded", 1]);
  expect(await stage.statuses(jobId)).toEqual([...Array(DEPLOYS).fill("released"), "succeeded"]);
  await last.stop();
});

test("OPS-03 a second signal leaves at once, with another code, and leaves no process behind", async () => {
  const worker = await stage.startWorker({ SHUTDOWN_GRACE_SECONDS: "30" });
  const jobId = await stage.act({ run_ms: 60_000, child: true, on_term: "ignore", diary: stage.diaryFile("second") });
  await stage.running(jobId);
  worker.signal("SIGTERM");
  await waitFor(() => worker.output().includes("draining"));
  await sleep(250); // closer together, two signals count as one wish
  expect(worker.child.exitCode).toBeNull();
  worker.signal("SIGTERM");
  const second = Date.now();
  const { code } = await worker.exited;
  expect(Date.now() - second).toBeLessThan(1000);
  expect(code).toBe(143);
  await nothingLeftOf(jobId, 1000);
  await stage.cancel(jobId);
});

test.each(["SIGINT", "SIGHUP"] as const)("OPS-03 an idle worker and %s: exit 0 at once, signed off", async (name) => {
  const worker = await stage.startWorker();
  worker.signal(name);
  const began = Date.now();
  expect((await worker.exited).code).toBe(0);
  expect(Date.now() - began).toBeLessThan(2000);
});
