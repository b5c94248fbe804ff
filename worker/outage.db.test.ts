import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { migrate, roleUrl, statement } from "@/lib/db";
import { type EmbeddedServer, startEmbedded } from "@/lib/db/embedded/index.mjs";
import { defineJob, type HandlerContext } from "@/lib/execution";
import { createLogger } from "@/lib/observability/log";
import { type ClaimedJob, getJob, rescueExpiredLeases } from "@/lib/queue/testing";
import type { TestDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { processClock } from "./lease/lease-protocol";
import { runnerStage } from "./run/runner.fixture";
import { Settler } from "./settle/settler";

const home = mkdtempSync(path.join(tmpdir(), "leasehold-outage-"));
chmodSync(home, 0o755); // as root, the server runs as another user
const [password, secret] = [randomBytes(16).toString("hex"), randomBytes(32).toString("base64url")];
const log = createLogger({ process: "worker", level: "silent", format: "json" });
const start = (port?: number) => startEmbedded({ home, password, port, durable: true, pgBin: process.env.PG_BIN });
let server: EmbeddedServer = await start();
const { port } = server;
const adminUrl = server.adminUrl("postgres");
await migrate({ adminUrl, secret, log: () => {} });

async function query<R extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<R[]> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    return (await client.query<R>(text, values)).rows;
  } finally {
    await client.end();
  }
}

const database: Pick<TestDatabase, "query" | "urlFor"> = { query, urlFor: (role) => roleUrl(adminUrl, secret, role) };
const stage = await runnerStage(database as TestDatabase);
const { make, scope } = stage;

afterAll(async () => {
  await stage.close();
  await server.stop();
  for (const folder of new Set([home, server.dir])) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

const holdNothing = statement("hold_nothing", "select 1 as one");

async function settledOverAnOutage(jobs: readonly ClaimedJob[]) {
  const settler = new Settler(make.worker, log, () => 0.5);
  await server.stop();
  const answers = Promise.all(jobs.map((job) => settler.add(succeeded(job), job.laneNo)));
  await new Promise((resolve) => setTimeout(resolve, 1000));
  server = await start(port);
  return answers;
}

test("LEASE-31 ends during a database outage are stored once when the database is back", async () => {
  const jobs = [await make.runningJob(scope), await make.runningJob(scope)];
  expect(await settledOverAnOutage(jobs)).toEqual(["settled", "settled"]);
  for (const { jobId } of jobs) {
    expect((await getJob(make.web, scope, jobId))?.status).toBe("succeeded");
    expect(await query("select 1 from app.job_attempts where job_id = $1", [jobId])).toHaveLength(1);
  }
}, 60_000);

test("LEASE-01 after an outage the fence decides: the end of a job that another worker claimed is refused", async () => {
  const job = await make.runningJob(scope);
  await query("update app.live_jobs set lease_expires_at = app.now() - interval '1 s'");
  await rescueExpiredLeases(make.worker, { limit: 10, random: () => 0 });
  expect(await settledOverAnOutage([job])).toEqual(["lost"]);
  expect((await getJob(make.web, scope, job.jobId))?.status).toBe("queued");
}, 60_000);

/**
 * Runs a job of this handler. The handler calls `outage` where the server is to stop, and continues once it has
 * stopped.
 */
async function ranOverAnOutage(run: (ctx: HandlerContext<unknown>, outage: () => Promise<void>) => Promise<unknown>) {
  let goOn = (): void => undefined;
  const stopped = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let isWaiting = false;
  const { key } = stage.definition;
  const handler = defineJob({
    key,
    schema: z.unknown(),
    run: (ctx) =>
      run(ctx, () => {
        isWaiting = true;
        return stopped;
      }),
  });
  const runner = stage.runnerOn(make.worker, 10, { handlers: new Map([[key, handler]]) });
  const job = await stage.claimed();
  runner.take([job], processClock());
  await waitFor(() => isWaiting);
  await server.stop();
  goOn();
  await new Promise((resolve) => setTimeout(resolve, 4000));
  server = await start(port);
  await waitFor(() => runner.count === 0, { withinMs: 30_000 });
  return { jobId: job.jobId, runner };
}

test("steps, transactions, events and progress wait for PostgreSQL: the job succeeds in its one attempt", async () => {
  const { jobId } = await ranOverAnOutage(async (ctx, outage) => {
    await ctx.step("before", () => 1);
    await outage();
    ctx.progress(50, "half");
    ctx.log("a line");
    await Promise.all([
      ctx.step("during", () => 2),
      ctx.transaction(async () => 3),
      ctx.publishEvent({ name: "outage.over", data: {} }),
    ]);
    ctx.enqueue({ definitionKey: ctx.attempt === 1 ? stage.definition.key : "none" });
    return { done: true };
  });
  expect(await stage.spentOn(jobId)).toEqual(["succeeded", 1, "succeeded"]);
  expect(await stage.logsOf(jobId)).toEqual(["a line"]);
  expect(await query("select name from app.events where caused_by_job_id = $1", [jobId])).toHaveLength(1);
}, 60_000);

test("a transaction cut off by a restart of PostgreSQL releases the job unspent", async () => {
  const { jobId, runner } = await ranOverAnOutage((ctx, outage) =>
    ctx.transaction(async (tx) => {
      await tx.run(holdNothing, []);
      await outage();
      return tx.run(holdNothing, []);
    }),
  );
  expect(await stage.spentOn(jobId)).toEqual(["queued", 0, "released"]);
  runner.take([await stage.claimAgain(jobId)], processClock());
  await waitFor(() => runner.count === 0);
  expect(await stage.spentOn(jobId)).toEqual(["succeeded", 1, "released", "succeeded"]);
}, 60_000);
