import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { builtinDefinitions } from "@/jobs";
import { type TestProcess, waitFor } from "@/lib/testing/processes";
import { expectOneEndEach, nothingLeftOf, openStage, processesOf, readDiary } from "./stage";

const LEASE_MS = 5000;
const RESCUE_MS = 3000;
const SMALL_FILES = 600;
const BIG_FILES = 8;
const BIG_BYTES = 256 * 1024 * 1024;

const stage = await openStage();
await stage.startScheduler();
const workers: TestProcess[] = [];
async function startWorker(env: Record<string, string> = {}): Promise<TestProcess> {
  const worker = await stage.startWorker(env);
  workers.push(worker);
  return worker;
}
afterEach(async () => {
  await Promise.all(
    workers.splice(0).map((worker) => {
      if (worker.child.exitCode !== null || worker.child.signalCode !== null) return null;
      worker.signal("SIGCONT");
      return worker.stop();
    }),
  );
});

async function kill(worker: TestProcess): Promise<void> {
  worker.signal("SIGKILL");
  await worker.exited;
}

describe("kill -9 of a worker", () => {
  test("LEASE-06 during sync-folder leaves no child process, and another worker finishes the job once", async () => {
    const { providerId, count } = await makeProvider();
    const jobId = await stage.enqueue("sync-folder", { provider_id: providerId });
    const real = { COMMANDS_FILE: path.resolve("jobs/commands.json") };
    const first = await startWorker(real);
    const recorded = async () => Number((await stage.database.query("select count(*) as n from app.assets"))[0]?.n);
    await waitFor(async () => (await recorded()) >= 500, { what: "the first rows of the inventory" });
    expect(processesOf(jobId).length).toBeGreaterThan(0);
    await kill(first);
    await nothingLeftOf(jobId, 1000);
    await stage.database.query("delete from app.job_workers where worker_id = $1", [first.workerId]);
    const second = await startWorker(real);
    const readyAt = Date.now();

    const job = await stage.settled(jobId, 40_000);
    expect([job.status, job.attempt_count]).toEqual(["succeeded", 2]);
    expect(job.result).toMatchObject({
      scanned: count,
      added: count,
      changed: 0,
      removed: 0,
      unchanged: 0,
      skipped: 0,
    });
    expect(await recorded()).toBe(count);
    const attempts = await stage.attempts(jobId);
    expect(attempts.map(({ status, worker_id: workerId }) => [status, workerId])).toEqual([
      ["worker_lost", first.workerId],
      ["succeeded", second.workerId],
    ]);
    expect(Date.parse(attempts[1]?.claimed_at ?? "") - readyAt).toBeLessThan(LEASE_MS + RESCUE_MS);
    await expectOneEndEach(stage, [jobId]);
  });

  test("LEASE-06 a worker that starts at once under the same name does not renew the dead worker's leases", async () => {
    const diary = stage.diaryFile("same-name");
    const jobId = await stage.act({ diary, run_ms: 60_000, from_attempt: 2, then_ms: 100 });
    const first = await startWorker({ WORKER_LABEL: "the-one" });
    await stage.running(jobId);
    await kill(first);
    const second = await startWorker({ WORKER_LABEL: "the-one" });
    expect(second.workerId).not.toBe(first.workerId);
    await nothingLeftOf(jobId, 1000);
    const job = await stage.settled(jobId);
    expect([job.status, job.attempt_count]).toEqual(["succeeded", 2]);
    expect(await stage.statuses(jobId)).toEqual(["worker_lost", "succeeded"]);
    expect(readDiary(diary).filter(({ what }) => what === "end")).toHaveLength(1);
  });
});

describe("a worker that is stopped and resumes after its leases expired", () => {
  test("LEASE-01 cannot complete, fail, log to or continue its jobs", async () => {
    const first = await startWorker();
    const long = { run_ms: 60_000, from_attempt: 2, then_ms: 50 };
    const jobs = {
      goesOn: await stage.act({ ...long, diary: stage.diaryFile("goes-on") }),
      succeeds: await stage.act({ ...long, run_ms: 2500, diary: stage.diaryFile("succeeds") }),
      fails: await stage.act({ ...long, run_ms: 2500, exit: 1, diary: stage.diaryFile("fails") }, { maxAttempts: 2 }),
    };
    const ids = Object.values(jobs);
    for (const id of ids) await stage.running(id);
    await waitFor(async () => (await stage.logs(jobs.goesOn)).length > 0, { what: "the first output" });
    first.signal("SIGSTOP");
    const second = await startWorker();
    for (const id of ids) await stage.settled(id, LEASE_MS + 15_000);
    expect(processesOf(jobs.goesOn).length).toBeGreaterThan(0);
    const before = await everything(ids);

    first.signal("SIGCONT");
    for (const id of ids) await nothingLeftOf(id);
    await waitFor(() => first.output().match(/lease lost/g)?.length === ids.length, {
      what: "the worker's word that its leases are lost",
    });
    expect(await everything(ids)).toEqual(before);
    for (const id of ids) {
      const attempts = await stage.attempts(id);
      expect(attempts.map(({ worker_id: workerId }) => workerId)).toEqual([first.workerId, second.workerId]);
      expect(attempts[0]?.status).toBe("worker_lost");
    }
    expect(await outcomes(jobs)).toEqual({ goesOn: "succeeded", succeeds: "succeeded", fails: "dead_letter" });
    await expectOneEndEach(stage, ids);

    await second.stop();
    const next = await stage.settled(await stage.enqueue("quick"));
    expect([next.status, (await stage.attempts(next.id))[0]?.worker_id]).toEqual(["succeeded", first.workerId]);
  });
});

/** Returns all rows that a worker could write about jobs. */
async function everything(ids: readonly string[]): Promise<unknown> {
  const all = async (table: string) =>
    stage.database.query(`select t::text as row from app.${table} t where job_id = any ($1::uuid[]) order by 1`, [ids]);
  return { attempts: await all("job_attempts"), logs: await all("job_logs"), live: await all("live_jobs") };
}

async function outcomes(jobs: Record<string, string>): Promise<Record<string, string>> {
  const entries = Object.entries(jobs).map(async ([name, id]) => [name, (await stage.read(id)).status] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** Registers a folder whose walk returns its first rows at once and then takes seconds, because big files come last. */
async function makeProvider(): Promise<{ providerId: string; count: number }> {
  const folder = path.join(stage.base, "files");
  mkdirSync(folder);
  for (let n = 0; n < SMALL_FILES; n += 1) writeFileSync(path.join(folder, `a ${n}`), `content ${n}`);
  for (let n = 0; n < BIG_FILES; n += 1) {
    const file = path.join(folder, `b ${n}`);
    writeFileSync(file, "");
    truncateSync(file, BIG_BYTES);
  }
  const definition = builtinDefinitions.find(({ key }) => key === "sync-folder");
  if (!definition) throw new Error("sync-folder is gone");
  const { key, executor, arg_schema: argSchema } = definition;
  await stage.factory.definition({ key, executor, arg_schema: argSchema, lease_seconds: LEASE_MS / 1000 });
  const [provider] = await stage.database.query<{ id: string }>(
    "insert into app.providers (tenant_id, name, path) values ($1, 'files', $2) returning id",
    [stage.scope.tenantId, folder],
  );
  return { providerId: provider?.id ?? "", count: SMALL_FILES + BIG_FILES };
}
