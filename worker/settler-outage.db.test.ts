import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { migrate, roleUrl } from "@/lib/db";
import { type EmbeddedServer, startEmbedded } from "@/lib/db/embedded/index.mjs";
import { createLogger } from "@/lib/observability/log";
import { type ClaimedJob, getJob, rescueExpiredLeases } from "@/lib/queue";
import { succeeded } from "@/lib/testing/attempt-ends";
import type { TestDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/factories";
import { Settler } from "./settler";

const home = mkdtempSync(path.join(tmpdir(), "leasehold-outage-"));
chmodSync(home, 0o755); // under root, the server runs as another user
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
const make = makeFactory(database as TestDatabase);
const scope = await make.tenant();

afterAll(async () => {
  await make.close();
  await server.stop();
  for (const folder of new Set([home, server.dir])) rmSync(folder, { recursive: true, force: true });
});

async function settledOverAnOutage(jobs: readonly ClaimedJob[]) {
  const settler = new Settler(make.worker, log, () => 0.5);
  await server.stop();
  const answers = Promise.all(jobs.map((job) => settler.add(succeeded(job), job.laneNo)));
  await new Promise((resolve) => setTimeout(resolve, 1000));
  server = await start(port);
  return answers;
}

test("LEASE-31 ends that meet an outage of the database are stored when it answers again, once", async () => {
  const jobs = [await make.runningJob(scope), await make.runningJob(scope)];
  expect(await settledOverAnOutage(jobs)).toEqual(["settled", "settled"]);
  for (const { jobId } of jobs) {
    expect((await getJob(make.web, scope, jobId))?.status).toBe("succeeded");
    expect(await query("select 1 from app.job_attempts where job_id = $1", [jobId])).toHaveLength(1);
  }
}, 60_000);

test("LEASE-01 after an outage the fence decides: an end whose job was given to another is refused", async () => {
  const job = await make.runningJob(scope);
  await query("update app.live_jobs set lease_expires_at = app.now() - interval '1 s'");
  await rescueExpiredLeases(make.worker, { limit: 10, random: () => 0 });
  expect(await settledOverAnOutage([job])).toEqual(["lost"]);
  expect((await getJob(make.web, scope, job.jobId))?.status).toBe("queued");
}, 60_000);
