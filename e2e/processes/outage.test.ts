import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { type EmbeddedServer, startEmbedded } from "@/lib/db/embedded/index.mjs";
import { createTestDatabase } from "@/lib/testing/database";
import { type TestProcess, waitFor } from "@/lib/testing/processes";
import { makeTemplate } from "./own-server";
import { expectOneEndEach, makeFolder, nothingLeftOf, openStage, readDiary, type Stage } from "./stage";

const ROUNDS = 20;
const ROUND_MS = 300;

describe("LEASE-25 every connection is cut twenty times while jobs run", async () => {
  const stage = await openStage();

  test("no process crashes, no job is lost, no job ends twice", async () => {
    const processes = [await stage.startScheduler(), await stage.startWorker(), await stage.startWorker()];
    const acknowledged = await keepEnqueueing(stage, async (soFar) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const before = soFar.length;
        await sleep(ROUND_MS);
        await waitFor(() => soFar.length > before + 2, { withinMs: 30_000, what: "jobs between two cuts" });
        await cutConnections(stage);
      }
    });
    const unfinished = async () =>
      Number((await stage.database.query("select count(*) as n from app.live_jobs"))[0]?.n);
    await waitFor(async () => (await unfinished()) === 0, { withinMs: 30_000, what: "the end of every job" });
    await expectOneEndEach(stage, acknowledged);
    await expectOneEndEach(
      stage,
      (await stage.database.query("select id from app.jobs")).map(({ id }) => id),
    );
    const failed = "select status, error_text from app.job_attempts where outcome <> 'succeeded'";
    expect(await stage.database.query(failed)).toEqual([]);
    for (const { child, output } of processes) {
      expect(child.exitCode, output()).toBeNull();
      expect(output()).not.toMatch(/an uncaught error/);
    }
    console.info(`${acknowledged.length} jobs went through ${ROUNDS} cuts`);
  });

  test("workers listen again: a job starts long before the next poll", async () => {
    const listeners = () =>
      stage.database.query(
        `select 1 from pg_stat_activity where datname = current_database()
         and application_name = 'leasehold worker listener' and query ilike 'listen%'`,
      );
    await waitFor(async () => (await listeners()).length === 2, { what: "both listeners" });
    const waits: number[] = [];
    for (let n = 0; n < 11; n += 1) {
      const job = await stage.settled(await stage.enqueue("quick"));
      waits.push(Date.parse(job.started_at ?? "") - Date.parse(job.queued_at));
      await sleep(n * 37); // at different phases of the poll interval
    }
    const median = waits.toSorted((a, b) => a - b)[5] ?? Number.NaN;
    console.info(`from enqueue to start: median ${median} ms`);
    expect(median).toBeLessThan(150);
  });
});

test("LEASE-11 an attempt whose renewal gets no answer is stopped before its lease expires", async () => {
  const stage = await openStage();
  await stage.startScheduler();
  await stage.startWorker();
  const diary = stage.diaryFile("silent");
  const jobId = await stage.act({ run_ms: 60_000, from_attempt: 2, then_ms: 100, diary });
  await stage.running(jobId);
  await waitFor(() => readDiary(diary).some(({ what }) => what === "tick"));
  const pid = await waitFor(() => renewerOf(stage), { what: "the connection that renews leases" });
  process.kill(pid, "SIGSTOP");
  const { lease_expires_at: leaseExpiresAt } = await stage.read(jobId);
  try {
    const job = await stage.settled(jobId);
    expect([job.status, await stage.statuses(jobId)]).toEqual(["succeeded", ["worker_lost", "succeeded"]]);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  expectOneAfterTheOther(diary);
  const lastOfFirst = readDiary(diary).findLast(({ attempt }) => attempt === 1);
  expect(lastOfFirst?.at).toBeLessThan(Date.parse(leaseExpiresAt ?? ""));
});

describe("LEASE-11 PostgreSQL stops immediately while jobs run", async () => {
  const home = path.join(makeFolder(), "server");
  mkdirSync(home, { mode: 0o755 });
  const options = { home, password: "of these tests alone", pgBin: process.env.PG_BIN };
  let server: EmbeddedServer = await startEmbedded(options);
  const template = await makeTemplate(server);
  const database = await createTestDatabase(template);
  afterAll(async () => {
    await server.stop();
    rmSync(server.dir, { recursive: true, force: true, maxRetries: 5 });
  });
  const stage = await openStage({ on: database });
  await stage.define("patient", { command_key: "act", lease_seconds: 30 });

  /** Crashes the server, which starts again on the same port after a while. */
  async function outage(ms: number): Promise<void> {
    const { port } = server;
    process.kill(server.pid, "SIGQUIT");
    await server.exited;
    await sleep(ms);
    server = await startEmbedded({ ...options, port });
    expect(server.port).toBe(port);
  }

  let processes: TestProcess[] = [];

  test("G-10 while the leases last, each job runs once, and attempts that end meanwhile are recorded afterwards", async () => {
    processes = [await stage.startScheduler(), await stage.startWorker()];
    const [during, after] = [stage.diaryFile("during"), stage.diaryFile("after")];
    const endsDuring = await stage.enqueue("patient", { run_ms: 2000, diary: during });
    const endsAfter = await stage.enqueue("patient", { run_ms: 60_000, until: stage.diaryFile("go"), diary: after });
    for (const id of [endsDuring, endsAfter]) await stage.running(id);
    await outage(3000);
    expect(readDiary(during).at(-1)?.what).toBe("end");
    expect(readDiary(after).at(-1)?.what).toBe("tick");
    writeFileSync(stage.diaryFile("go"), "");
    for (const id of [endsDuring, endsAfter]) {
      const job = await waitFor(() => stage.settled(id).catch(() => null), { withinMs: 30_000, what: "the end" });
      expect([job.status, job.attempt_count]).toEqual(["succeeded", 1]);
      expect(await stage.statuses(id)).toEqual(["succeeded"]);
    }
    for (const file of [during, after]) expect(readDiary(file).filter(({ what }) => what === "start")).toHaveLength(1);
    await expectOneEndEach(stage, [endsDuring, endsAfter]);
  });

  test("when the lease expires, the first attempt is stopped before a second one begins", async () => {
    const diary = stage.diaryFile("gone");
    const jobId = await stage.act({ run_ms: 60_000, from_attempt: 2, then_ms: 100, diary });
    await stage.running(jobId);
    await waitFor(() => readDiary(diary).some(({ what }) => what === "tick"));
    const ended = outage(7000);
    await nothingLeftOf(jobId, 6000);
    await ended;
    const job = await waitFor(() => stage.settled(jobId).catch(() => null), { withinMs: 30_000, what: "the end" });
    expect([job.status, job.attempt_count]).toEqual(["succeeded", 2]);
    expect(await stage.statuses(jobId)).toEqual(["worker_lost", "succeeded"]);
    expectOneAfterTheOther(diary);
    for (const { child, output } of processes) expect(child.exitCode, output()).toBeNull();
  });

  test("OPS-03 SIGTERM while the database is down ends the processes within five seconds", async () => {
    process.kill(server.pid, "SIGQUIT");
    await server.exited;
    const began = Date.now();
    const ends = await Promise.all(processes.map((one) => one.stop()));
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    expect(Date.now() - began).toBeLessThan(5000);
    server = await startEmbedded(options);
  });
});

/** Fails if the second attempt began before the first one stopped. */
function expectOneAfterTheOther(diary: string): void {
  const lines = readDiary(diary);
  const timesOf = (wanted: number) => lines.filter(({ attempt }) => attempt === wanted).map(({ at }) => at);
  expect(Math.max(...timesOf(1))).toBeLessThan(Math.min(...timesOf(2)));
}

/** Returns the server process that renews the leases of the worker. */
async function renewerOf({ database }: Stage): Promise<number | undefined> {
  const [renewer] = await database.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and application_name = 'leasehold leases'`,
  );
  return renewer?.pid;
}

/** Enqueues until `during` resolves. Returns the acknowledged ids. */
async function keepEnqueueing(stage: Stage, during: (soFar: string[]) => Promise<void>): Promise<string[]> {
  const acknowledged: string[] = [];
  let over = false;
  const loop = async () => {
    while (!over) {
      const id = await stage.enqueue("quick").catch(() => null);
      if (id) acknowledged.push(id);
      await sleep(10);
    }
  };
  const loops = [loop(), loop()];
  await during(acknowledged).finally(() => {
    over = true;
  });
  await Promise.all(loops);
  return acknowledged;
}

async function cutConnections({ database }: Stage): Promise<void> {
  await database.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  );
}
