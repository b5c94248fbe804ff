import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { freePort } from "@/lib/db/embedded/index.mjs";
import { enqueueJob } from "@/lib/queue/testing";
import { environmentOf, type ProcessName, waitFor } from "@/lib/testing/processes";
import { nothingLeftOf, openStage, processesOf, readDiary } from "./stage";

const DEPLOYS = 5;
const stage = await openStage();
await stage.startScheduler();

test("SIGTERM lets short jobs finish, releases long ones unspent, and exits 0 within the grace period", async () => {
  const worker = await stage.startWorker({ SHUTDOWN_GRACE_SECONDS: "12" });
  const short = await stage.act({ run_ms: 1500 });
  const long = await stage.act({ run_ms: 60_000, diary: stage.diaryFile("long") });
  for (const id of [short, long]) await stage.running(id);
  const waiting = async () => stage.enqueue("quick");
  const began = Date.now();
  const ended = worker.stop();
  await waitFor(() => worker.output().includes("draining"));
  const later = await waiting();
  expect(await ended).toEqual({ code: 0, signal: null });
  expect(Date.now() - began).toBeLessThan(12_000);

  expect((await stage.read(short)).status).toBe("succeeded");
  const given = await stage.read(long);
  expect([given.status, given.attempt_count]).toEqual(["queued", 0]);
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

test("a draining worker learns of a cancel long before its next lease renewal", async () => {
  await stage.define("seldom-renewed", { command_key: "act", lease_seconds: 90 });
  const worker = await stage.startWorker({ SHUTDOWN_GRACE_SECONDS: "60" });
  const jobId = await stage.enqueue("seldom-renewed", { run_ms: 120_000 });
  await stage.running(jobId);
  const ended = worker.stop();
  await waitFor(() => worker.output().includes("draining"));
  await stage.cancel(jobId);
  expect((await stage.settled(jobId, 15_000)).status).toBe("canceled");
  expect(await ended).toEqual({ code: 0, signal: null });
  expect(await stage.statuses(jobId)).toEqual(["canceled"]);
});

test("jobs that a slow database returns to a worker's last claim are released unspent before the worker exits", async () => {
  const worker = await stage.startWorker({ SHUTDOWN_GRACE_SECONDS: "40" });
  await stage.settled(await stage.enqueue("quick"));
  const { jobId } = await enqueueJob(stage.factory.web, stage.scope, {
    definitionKey: "quick",
    scheduledFor: new Date(Date.now() + 2000),
  });
  const locker = new pg.Client({ connectionString: stage.database.adminUrl });
  await locker.connect();
  // Claims read app.jobs. Polls and promotions do not.
  await locker.query("begin; lock table app.jobs in access exclusive mode");
  const claiming = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    and query like 'with picked%'`;
  await waitFor(async () => (await stage.database.query(claiming)).length > 0, { what: "the claim that waits" });
  const ended = worker.stop();
  await waitFor(() => worker.output().includes("draining"));
  await sleep(3000);
  await locker.query("commit");
  await locker.end();
  expect(await ended).toEqual({ code: 0, signal: null });
  const job = await stage.read(jobId);
  expect([job.status, job.attempt_count, await stage.statuses(jobId)]).toEqual(["queued", 0, ["released"]]);
  await stage.cancel(jobId);
});

test("A-01 a worker that stays over its memory limit finishes its jobs and exits with 75", async () => {
  const worker = await stage.startWorker({ WORKER_MEMORY_LIMIT_MB: "1" });
  const jobId = await stage.act({ run_ms: 11_000 });
  expect(await worker.exited).toEqual({ code: 75, signal: null });
  expect((await stage.read(jobId)).status).toBe("succeeded");
});

test("LEASE-10 five deploys during a long job spend none of its three attempts", async () => {
  const jobId = await stage.act({ run_ms: 60_000, from_attempt: DEPLOYS + 1, then_ms: 10 }, { maxAttempts: 3 });
  for (let deploy = 1; deploy <= DEPLOYS; deploy += 1) {
    const worker = await stage.startWorker({ SHUTDOWN_GRACE_SECONDS: "1" });
    await stage.running(jobId);
    expect((await worker.stop()).code).toBe(0);
    await nothingLeftOf(jobId, 500);
  }
  const last = await stage.startWorker();
  const job = await stage.settled(jobId);
  expect([job.status, job.attempt_count]).toEqual(["succeeded", 1]);
  expect(await stage.statuses(jobId)).toEqual([...Array(DEPLOYS).fill("released"), "succeeded"]);
  await last.stop();
});

test("OPS-03 a second signal exits at once with 143 and leaves no process behind", async () => {
  const worker = await stage.startWorker({ SHUTDOWN_GRACE_SECONDS: "30" });
  const jobId = await stage.act({ run_ms: 60_000, child: true, on_term: "ignore", diary: stage.diaryFile("second") });
  await stage.running(jobId);
  worker.signal("SIGTERM");
  await waitFor(() => worker.output().includes("draining"));
  await sleep(250); // two signals closer together count as one
  expect(worker.child.exitCode).toBeNull();
  worker.signal("SIGTERM");
  const second = Date.now();
  const { code } = await worker.exited;
  expect(Date.now() - second).toBeLessThan(5000);
  expect(code).toBe(143);
  await nothingLeftOf(jobId, 1000);
  await stage.cancel(jobId);
});

test.each(["SIGINT", "SIGHUP"] as const)("OPS-03 an idle worker exits 0 within seconds of %s", async (name) => {
  const worker = await stage.startWorker();
  worker.signal(name);
  const began = Date.now();
  expect((await worker.exited).code).toBe(0);
  expect(Date.now() - began).toBeLessThan(5000);
});

describe("OPS-03 SIGTERM before a process is ready", () => {
  test.each(["worker", "scheduler"] as const)(
    "a %s terminated at any moment of its start exits soon and leaves no worker row open",
    async (name) => {
      for (const afterMs of [50, 120, 200, 280, 360, 450, 600]) {
        const bare = spawnBare(name, stage.database.adminUrl);
        const { child, output } = bare;
        await sleep(afterMs);
        const { code, signal, tookMs } = await terminate(bare);
        // Before the process handles signals, the signal itself ends it.
        expect([0, "SIGTERM"], `after ${afterMs} ms: ${output()}`).toContain(signal ?? code);
        expect(tookMs).toBeLessThan(5000);
        expect(output()).not.toMatch(/"level":"(?:error|fatal)"/);
        const half = "select worker_id from app.job_workers where pid = $1 and stopped_at is null";
        expect(await stage.database.query(half, [child.pid]), `after ${afterMs} ms`).toEqual([]);
      }
    },
  );

  test("a worker that waits for a database that is down exits within five seconds", async () => {
    const url = new URL(stage.database.adminUrl);
    url.port = String(await freePort());
    const bare = spawnBare("worker", url.href);
    const { output } = bare;
    await waitFor(() => /"level":"(?:warn|info)"/.test(output()), { what: "its word that it waits" });
    const { code, tookMs } = await terminate(bare);
    expect([code, tookMs < 5000], output()).toEqual([0, true]);
  });
});

/** Starts a process without waiting for anything. */
function spawnBare(name: ProcessName, databaseUrl: string) {
  const env = environmentOf(name, { adminUrl: databaseUrl, secret: stage.database.secret }, stage.env);
  const child = spawn(process.execPath, [`dist/test/${name}.mjs`], { env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  return { child, output: () => output, closed: once(child, "close") };
}

async function terminate({ child, closed }: ReturnType<typeof spawnBare>) {
  const began = performance.now();
  const late = setTimeout(() => child.kill("SIGKILL"), 20_000);
  child.kill("SIGTERM");
  const [code, signal] = await closed;
  clearTimeout(late);
  return { code, signal, tookMs: performance.now() - began };
}
