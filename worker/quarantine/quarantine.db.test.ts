import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { processSecrets } from "@/lib/env/process-secrets.mjs";
import { createLogger } from "@/lib/observability/log";
import { cancelJob, getJob, rescueExpiredLeases, startAttempts } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { processClock } from "../lease/lease-protocol";
import type { JobRunner } from "../run/runner";
import { noNotice, runnerStage } from "../run/runner.fixture";
import { plainLaunch } from "./launch.fixture";
import { Quarantine } from "./quarantine";
import { QuarantineProcess } from "./quarantine-process";

const WITHIN = { withinMs: 30_000 };
const database = await testDatabase();
const stage = await runnerStage(database);
const { make, scope, underWay, leaseEvents, claimAgain } = stage;
const folder = mkdtempSync(path.join(tmpdir(), "leasehold-quarantine-"));
chmodSync(folder, 0o755); // if PostgreSQL's user cannot enter the folder, the data goes elsewhere
const log = createLogger({ process: "worker", level: "silent", format: "json" });
const program = path.join(folder, "quarantine.entry.mjs");
const installation = { DATABASE_URL: database.adminUrl, LEASEHOLD_SECRET: database.secret };
const secrets = { values: processSecrets("worker", installation).values, files: [] };
const options = { log, program, memoryMb: 0, maxTimeoutSeconds: 3600, secrets, launch: plainLaunch };
const quarantine = new Quarantine(options);
let runner: JobRunner;

beforeAll(async () => {
  vi.stubEnv("LEASEHOLD_HOME", path.join(folder, "home"));
  vi.stubEnv("COMMANDS_FILE", path.resolve("e2e/processes/commands/commands.json"));
  await make.definition({ key: "quick", command_key: "quick" });
  await make.definition({ key: "nap", command_key: "nap", kill_grace_seconds: 0 });
  await make.definition({ key: "harm", executor: "handler", kill_grace_seconds: 1, max_attempts: 3 });
  await build({
    entryPoints: ["worker/quarantine/quarantine.entry.ts"],
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    alias: { "@/jobs": path.resolve("worker/harmful-jobs.fixture.ts") },
    external: ["pg-native"],
    banner: { js: 'import { createRequire as r } from "node:module"; const require = r(import.meta.url);' },
  });
}, 60_000);
afterAll(async () => {
  quarantine.close();
  vi.unstubAllEnvs();
  await stage.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});
beforeEach(() => {
  stage.reset();
  runner = stage.runnerOn(make.worker, 10, { quarantine });
});

/** A job that was running when its worker died, claimed again. */
async function suspect(definitionKey: string, payload: unknown = {}) {
  const { id } = await make.job(scope, { definitionKey, payload });
  await claimAgain(id);
  await loseLease(id);
  const job = await claimAgain(id);
  expect(job.reclaims).toBe(1);
  return job;
}

async function loseLease(jobId: string): Promise<void> {
  await database.query("update app.live_jobs set lease_expires_at = app.now() - interval '1 s' where job_id = $1", [
    jobId,
  ]);
  await rescueExpiredLeases(make.worker, { limit: 10, random: () => 0 });
}

const fileOf = (name: string) => path.join(folder, name);
const view = (jobId: string) => getJob(make.web, scope, jobId);
const pidOf = (job: Awaited<ReturnType<typeof view>>) => (job?.result as { pid?: number } | undefined)?.pid;

describe("the handler of a job whose run has lost a lease runs in its own process", () => {
  test.each([
    ["exit", /\(exit code 7\)/],
    ["kill", /\(SIGKILL\)/],
    ["reject", /\(exit code 1\)/],
  ] as const)("where a crash (%s) spends one attempt and affects no other job", async (how, reason) => {
    const neighbour = await stage.claimed();
    const poison = await suspect("harm", { how });
    runner.take([neighbour, poison], processClock());
    await waitFor(() => runner.count === 1, WITHIN);
    const ended = await view(poison.jobId);
    expect([ended?.status, ended?.attempt_count, ended?.error_type]).toEqual(["queued", 1, "worker_lost"]);
    expect(ended?.last_error).toMatch(reason);
    underWay[0]?.end();
    await waitFor(() => runner.count === 0);
    expect((await view(neighbour.jobId))?.status).toBe("succeeded");
  });

  test("and succeeds like elsewhere; the process then runs the next such job", async () => {
    const results: (number | undefined)[] = [];
    for (let n = 0; n < 2; n += 1) {
      const job = await suspect("harm", { how: "fine" });
      runner.take([job], processClock());
      await waitFor(() => runner.count === 0, WITHIN);
      const ended = await view(job.jobId);
      expect([ended?.status, ended?.attempt_count]).toEqual(["succeeded", 1]);
      expect(await stage.logsOf(job.jobId)).toEqual([`attempt ${job.leaseNo}: fine`]);
      results.push(pidOf(ended));
    }
    expect(results[0]).toBeGreaterThan(0);
    expect(results[0]).not.toBe(process.pid);
    expect(results[1]).toBe(results[0]);
  });

  test("after a crash, so does each job of its tenant and definition, and no others", async () => {
    const { id } = await make.job(scope, { definitionKey: "harm", payload: { how: "fine" } });
    const fresh = await claimAgain(id);
    expect([fresh.reclaims, quarantine.takes(fresh, "handler")]).toEqual([0, true]);
    expect(quarantine.takes({ ...fresh, tenantId: "another" }, "handler")).toBe(false);
    expect(quarantine.takes(await stage.claimed(), "handler")).toBe(false);
    runner.take([fresh], processClock());
    await waitFor(() => runner.count === 0, WITHIN);
    expect(pidOf(await view(id))).not.toBe(process.pid);
  });

  test("is killed when it blocks its event loop during a cancel, and ends as canceled", async () => {
    const file = fileOf("blocked");
    const job = await suspect("harm", { how: "block", file });
    runner.take([job], processClock());
    const pid = Number(await waitFor(() => existsSync(file) && readFileSync(file, "utf8"), WITHIN));
    await cancelJob(make.web, scope, job.jobId);
    runner.cancel([job.jobId]);
    await waitFor(() => runner.count === 0, WITHIN);
    expect((await view(job.jobId))?.status).toBe("canceled");
    expect(existsSync(`/proc/${pid}`)).toBe(false);
  });

  test("is killed at once when its lease is lost, and writes nothing", async () => {
    const file = fileOf("lost");
    const job = await suspect("harm", { how: "wait", file });
    runner.take([job], processClock());
    await waitFor(() => existsSync(file), WITHIN);
    await loseLease(job.jobId);
    leaseEvents.get(job.leaseNo)?.("lost");
    await waitFor(() => runner.count === 0);
    expect(await stage.statuses(job.jobId)).toEqual(["worker_lost", "worker_lost"]);
  });

  test("is released unspent by its own process when the worker dies", async () => {
    const file = fileOf("orphan");
    const job = await suspect("harm", { how: "wait", file });
    await startAttempts(make.worker, [job]);
    const orphan = new QuarantineProcess(options);
    expect(await orphan.ready).toBe(true);
    void orphan.run({ job, isNoted: false }, noNotice);
    await waitFor(() => existsSync(file), WITHIN);
    // The channel breaks in the same way when the worker ends.
    orphan.release();
    await orphan.exited;
    expect(await stage.spentOn(job.jobId)).toEqual(["queued", 0, "worker_lost", "released"]);
  });
});

test("a handler released by a worker because of its memory runs in quarantine afterwards", async () => {
  const job = await stage.claimed();
  const leaving = new Quarantine(options);
  leaving.isOverMemory = true;
  runner = stage.runnerOn(make.worker, 10, { quarantine: leaving });
  runner.take([job], processClock());
  await waitFor(() => underWay.length === 1);
  const draining = runner.drain(0, noNotice);
  await waitFor(() => underWay[0]?.stopped());
  underWay[0]?.end();
  await draining;
  expect(await stage.spentOn(job.jobId)).toEqual(["queued", 0, "released"]);
  const again = await claimAgain(job.jobId);
  expect(quarantine.takes(again, "handler")).toBe(true);
});

test("a command that lost two leases runs in quarantine, apart from handlers that kill workers", async () => {
  const job = await suspect("quick");
  expect(quarantine.takes(job, "command")).toBe(false);
  await loseLease(job.jobId);
  // The job would wait for a while after its second loss.
  await database.query("update app.live_jobs set ready = true where job_id = $1", [job.jobId]);
  const again = await claimAgain(job.jobId);
  expect([again.reclaims, quarantine.takes(again, "command")]).toEqual([2, true]);
  runner.take([again], processClock());
  await waitFor(() => runner.count === 0, WITHIN);
  expect((await view(job.jobId))?.status).toBe("succeeded");
});

// Otherwise a machine that lacks processes for a moment would give it a weaker isolation.
test.runIf(process.platform === "linux")("a command in quarantine is isolated as the worker says", async () => {
  const job = await suspect("nap", { seconds: 60 });
  await startAttempts(make.worker, [job]);
  const child = new QuarantineProcess(options);
  let pid = 0;
  void child.run({ job, isNoted: false }, (spawned) => {
    pid = spawned;
  });
  // Without a namespace, the leader of the group is the program itself.
  await waitFor(() => pid > 0 && readFileSync(`/proc/${pid}/comm`, "utf8") === "sleep\n", WITHIN);
  child.release();
  await child.exited;
});
