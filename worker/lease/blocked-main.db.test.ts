import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { rescueExpiredLeases } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { plainEnvironment, waitFor } from "@/lib/testing/processes";
import { makeFactory } from "@/lib/testing/rows/factories";
import { MAIN_IS_BLOCKED } from "./end-process";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
const folder = mkdtempSync(path.join(tmpdir(), "leasehold-blocked-"));
afterAll(async () => {
  await make.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

beforeAll(async () => {
  await build({
    entryPoints: { main: "worker/lease/blocked-main.fixture.ts", "lease-thread": "worker/lease/lease-thread.entry.ts" },
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    external: ["pg-native"],
    banner: { js: 'import { createRequire as r } from "node:module"; const require = r(import.meta.url);' },
  });
}, 60_000);

/** Starts a process with a job whose lease has since been taken over. */
async function withLostLease(mode: "blocks" | "answers"): Promise<{ child: ChildProcess; output: () => string }> {
  const job = await make.runningJob(scope);
  await database.query("update app.live_jobs set lease_expires_at = app.now() - interval '1 s' where job_id = $1", [
    job.jobId,
  ]);
  await rescueExpiredLeases(make.worker, { limit: 10, random: () => 0 });
  const args = [path.join(folder, "main.mjs"), database.urlFor("worker"), job.jobId, String(job.leaseNo), mode];
  const child = spawn(process.execPath, args, { env: plainEnvironment(), stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece) => {
    text += piece;
  });
  return { child, output: () => text };
}

test("LEASE-01 a worker whose main thread is blocked after a lost lease says so and ends with code 70", {
  timeout: 120_000,
}, async () => {
  const [blocked, answering] = [await withLostLease("blocks"), await withLostLease("answers")];
  const [code] = await once(blocked.child, "exit");
  expect(code).toBe(MAIN_IS_BLOCKED);
  expect(MAIN_IS_BLOCKED).toBe(70);
  expect(blocked.output()).toContain("has lost its lease and blocks the worker");
  // A main thread that answers is notified of the lost lease, and lives.
  await waitFor(() => answering.output().includes('"lost"'));
  expect(answering.child.exitCode).toBeNull();
});
