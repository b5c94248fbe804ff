import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { defineJob, type HandlerContext, type JobHandler, loadCommandRegistry } from "@/lib/execution";
import { createLogger } from "@/lib/observability/log";
import { createTrigger, enqueueJob, getJob, listAttempts, listJobs, listSteps } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { makeFactory } from "@/lib/testing/rows/factories";
import { processClock } from "../lease/lease-protocol";
import { Settler } from "../settle/settler";
import { Runner } from "./runner";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
const sharedFolder = mkdtempSync(path.join(tmpdir(), "leasehold-verbs-"));
chmodSync(sharedFolder, 0o755); // commands may run as another user
afterAll(async () => {
  await make.close();
  rmSync(sharedFolder, { recursive: true, force: true, maxRetries: 5 });
});

const logged: Record<string, unknown>[] = [];
const stream = { write: (line: string) => void logged.push(JSON.parse(line)) };
const log = createLogger({ process: "worker", level: "error", format: "json", stream });
const registry = await loadCommandRegistry("e2e/processes/commands/commands.json", { sharedFolder });
const handlers = new Map<string, JobHandler>();
const runner = new Runner({
  workerId: "the-runner",
  db: make.worker,
  log,
  leases: { hold: () => undefined, limit: () => undefined, drop: () => undefined, spawned: () => undefined },
  settler: new Settler(make.worker, log, () => 0.5),
  tools: { worker: make.worker, web: make.web, registry, handlers, providerRoots: [], maxTimeoutSeconds: 3600 },
  logMaxBytes: 1000,
  places: 10,
  random: () => 0.5,
  onFree: () => undefined,
});

/** Enqueues a job whose handler is `run`, and returns it after its first attempt. */
async function ran(
  run: (ctx: HandlerContext<unknown>) => Promise<unknown>,
  { isShipped = false, ...job }: { correlationId?: string; maxAttempts?: number; isShipped?: boolean } = {},
) {
  const { key } = await make.definition({ executor: "handler", key: `verb-${randomUUID().slice(0, 8)}` });
  handlers.set(key, { ...defineJob({ key, schema: z.unknown(), run }), isShipped });
  const { id } = await make.job(scope, { definitionKey: key, ...job });
  await attempt(id);
  return id;
}

async function attempt(jobId: string): Promise<void> {
  await database.query("update app.live_jobs set ready = true where job_id = $1 and state = 'queued'", [jobId]);
  const claimed = (await make.claim("verbs")).filter((one) => one.jobId === jobId);
  expect(claimed).toHaveLength(1);
  runner.take(claimed, processClock());
  await waitFor(() => runner.count === 0);
}

const read = async (jobId: string) => {
  const job = await getJob(make.web, scope, jobId);
  if (!job) throw new Error("there is no such job");
  return job;
};
const attempts = async (jobId: string) => ((await listAttempts(make.web, scope, jobId)) ?? []).toReversed();

test("a snooze delays the job as requested without spending an attempt", async () => {
  const jobId = await ran((ctx) => ctx.snooze(3600, "the library is closed"));
  const job = await read(jobId);
  expect([job.status, job.attempt_count]).toEqual(["queued", 0]);
  const [first] = await attempts(jobId);
  expect([first?.status, first?.error_type, first?.error_text]).toEqual(["snoozed", null, "the library is closed"]);
  const waitMs = Date.parse(first?.retry_at ?? "") - Date.parse(first?.finished_at ?? "");
  expect(Math.abs(waitMs - 3_600_000)).toBeLessThan(5000);
  await database.query("update app.live_jobs set snoozes = 1000 where job_id = $1", [jobId]);
  await attempt(jobId);
  expect(await read(jobId)).toMatchObject({ status: "dead_letter", error_type: "internal" });
});

test("an unexpected error shows the stack of a tenant's own handler; a built-in handler's stack is only in the worker's log", async () => {
  const broken = async () => {
    const error = new TypeError("cannot read it");
    const frames = [
      `jobs/handlers/x.ts:1:2`,
      "worker/run/run-attempt.ts:3:4",
      "dist/worker.mjs:5:6",
      "lib/db/a.ts:7:8",
    ];
    error.stack = ["TypeError: cannot read it", ...frames.map((at) => `    at f (${process.cwd()}/${at})`)].join("\n");
    throw error;
  };
  logged.length = 0;
  const own = await ran(broken);
  expect((await read(own)).last_error).toBe("cannot read it\n    at f (jobs/handlers/x.ts:1:2)");
  expect(logged).toEqual([]);
  const shipped = await ran(broken, { isShipped: true });
  expect((await read(shipped)).last_error).toBe("cannot read it");
  const stack = expect.stringMatching(
    /^TypeError: cannot read it\n.*jobs\/handlers\/x\.ts:1:2\).*\n.*worker\/run\/run-attempt/,
  );
  expect(logged).toEqual([expect.objectContaining({ level: "error", job_id: shipped, err: { stack } })]);
});

test("G-03 an attempt resumes after the steps of the previous one", async () => {
  const did: string[] = [];
  const jobId = await ran(async (ctx) => {
    const uploaded = await ctx.step("upload", () => did.push("upload"));
    if (ctx.attempt === 1) throw new Error("the network is gone");
    did.push("publish");
    return { uploaded };
  });
  await attempt(jobId);
  expect(await read(jobId)).toMatchObject({ status: "succeeded", result: { uploaded: 1 } });
  expect(did).toEqual(["upload", "publish"]);
  expect(await listSteps(make.web, scope, jobId)).toMatchObject({
    steps: [{ name: "upload", attempt_no: 1, result: 1 }],
  });
});

test("G-03 a step whose result cannot be stored fails the attempt permanently", async () => {
  const jobId = await ran((ctx) => ctx.step("large", () => "x".repeat(300_000)));
  expect(await read(jobId)).toMatchObject({ status: "dead_letter", error_type: "internal" });
});

test("G-04 children are enqueued with the success, with the parent's correlation id", async () => {
  const { key } = await make.definition();
  const jobId = await ran(async (ctx) => ctx.enqueue({ definitionKey: key, payload: { from: ctx.jobId } }), {
    correlationId: "order-7",
  });
  const { jobs } = await listJobs(make.web, scope, { parent_job_id: jobId }, { limit: 10 });
  expect(jobs).toMatchObject([{ definition_key: key, correlation_id: "order-7", source: "system", status: "queued" }]);
});

test("G-04 a refused child fails the attempt with the reason", async () => {
  const jobId = await ran(async (ctx) => ctx.enqueue({ definitionKey: "no-such-definition" }));
  const job = await read(jobId);
  expect([job.status, job.error_type]).toEqual(["dead_letter", "validation"]);
  expect(job.last_error).toContain("Definition not found");
});

test("Z-05 a handler publishes an event once per run, with the job's correlation id, one level deeper than the job", async () => {
  let seen: HandlerContext<unknown> | undefined;
  const jobId = await ran(
    async (ctx) => {
      seen = ctx;
      const first = await ctx.publishEvent({ name: "thing.made", data: { n: 1 } });
      const second = await ctx.transaction((tx) => ctx.publishEvent({ name: "thing.made", key: "other" }, tx));
      const again = await ctx.publishEvent({ name: "thing.made", data: { n: 2 } });
      return { duplicates: [first.duplicate, second.duplicate, again.duplicate], same: first.id === again.id };
    },
    { correlationId: "the chain" },
  );
  expect((await read(jobId)).result).toEqual({ duplicates: [false, false, true], same: true });
  await expect(seen?.publishEvent({ name: "thing.late" })).rejects.toThrow(/has ended/);
  const rows = await database.query(
    "select name, data, source, correlation_id, depth, caused_by_job_id from app.events where tenant_id = $1 order by id",
    [scope.tenantId],
  );
  const told = { name: "thing.made", source: "job", correlation_id: "the chain", depth: 0, caused_by_job_id: jobId };
  expect(rows).toEqual([
    { ...told, data: { n: 1 } },
    { ...told, data: {} },
  ]);
});

test.each<[string, (ctx: HandlerContext<unknown>, definitionKey: string) => unknown]>([
  ["a child", (ctx, definitionKey) => ctx.enqueue({ definitionKey })],
  ["a job in a transaction", (ctx, definitionKey) => ctx.transaction((tx) => enqueueJob(tx, scope, { definitionKey }))],
  ["an event", (ctx, key) => ctx.publishEvent({ name: `made.${key}` })],
  ["an event in a transaction", (ctx, key) => ctx.transaction((tx) => ctx.publishEvent({ name: `made.${key}` }, tx))],
])(
  "a job that makes %s after its tenant was suspended is released unspent, and makes it after the suspension",
  async (_what, act) => {
    const setStatus = (status: string) =>
      database.query("update app.tenants set status = $2 where id = $1", [scope.tenantId, status]);
    await setStatus("active");
    const { key } = await make.definition();
    const listens = { trigger_type: "event", event_name: `made.${key}`, definition_key: key, label: "late" } as const;
    await createTrigger(make.web, scope, listens);
    const jobId = await ran(
      async (ctx) => {
        if (ctx.attempt === 1) await setStatus("suspended");
        await act(ctx, key);
      },
      { maxAttempts: 1 },
    );
    const job = await read(jobId);
    expect([job.status, job.attempt_count, job.wait_reason?.code]).toEqual(["queued", 0, "suspended"]);
    expect((await attempts(jobId)).map(({ status, error_text: errorText }) => [status, errorText])).toEqual([
      ["released", expect.stringContaining("suspended")],
    ]);
    const made = () =>
      database.query("select 1 from app.jobs j join app.job_definitions d on d.id = j.definition_id where d.key = $1", [
        key,
      ]);
    expect(await made()).toEqual([]);
    await setStatus("active");
    await attempt(jobId);
    expect(await read(jobId)).toMatchObject({ status: "succeeded", attempt_count: 1 });
    expect(await made()).toHaveLength(1);
  },
);

test("an invalid event fails its job permanently and stores nothing", async () => {
  const jobId = await ran(async (ctx) => ctx.publishEvent({ name: "no name" }));
  const job = await read(jobId);
  expect([job.status, job.error_type]).toEqual(["dead_letter", "internal"]);
  expect(job.last_error).toContain("cannot be published");
  expect(await database.query("select 1 from app.events where caused_by_job_id = $1", [jobId])).toEqual([]);
});
