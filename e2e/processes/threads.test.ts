import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { ensureDefinitions } from "@/admin/definitions";
import { waitFor } from "@/lib/testing/processes";
import { openStage } from "./stage";

const TERM_WITHIN_MS = 2000;
const SLACK = 5;
const stage = await openStage();
await ensureDefinitions(stage.factory.platform, () => {});
const folder = path.join(stage.base, "files");
mkdirSync(folder);
// So many different values of one length that comparing each with each takes minutes.
const lines = Array.from({ length: 30_000 }, (_, n) => `${n.toString(36).padStart(6, "0").repeat(20)}`);
writeFileSync(path.join(folder, "many.csv"), `name\n${lines.join("\n")}\n`);
// As JSON, this field would have 94 million characters of two bytes.
writeFileSync(path.join(folder, "wide.csv"), `name\n\u0100${"\u0001".repeat(15 * 1024 * 1024)}\nAnna\n`);
writeFileSync(path.join(folder, "few.csv"), "name\nAnna Meier\nAnna Meyer\nZoe\n");
const provider_id = await register();
await stage.startScheduler();
const worker = await stage.startWorker({ WORKER_CONCURRENCY: "3" });

async function register(): Promise<string> {
  const [row] = await stage.database.query<{ id: string }>(
    "insert into app.providers (tenant_id, name, path) values ($1, 'files', $2) returning id",
    [stage.scope.tenantId, folder],
  );
  return row?.id ?? "";
}

const compare = (file: string) =>
  stage.enqueue("find-similar", { provider_id, path: file, column: "name" }, { timeoutSeconds: 600 });
const burning = (jobId: string) =>
  waitFor(async () => (await stage.read(jobId)).progress !== null, {
    withinMs: 40_000,
    what: `progress of ${jobId}`,
  });

test("the pairs that find-similar finds are the job's result", async () => {
  const job = await stage.settled(await compare("few.csv"), 60_000);
  expect([job.status, job.result]).toEqual([
    "succeeded",
    {
      rows: 3,
      distinct: 3,
      pairs: 1,
      rejected: 0,
      similar: [{ lines: [2, 3], values: ["Anna Meier", "Anna Meyer"], distance: 1 }],
      read_as: { delimiter: ",", quote: '"', encoding: "utf-8", header: true },
    },
  ]);
});

test("a field of 15 MiB of control characters does not end the worker", async () => {
  const job = await stage.settled(await compare("wide.csv"), 90_000);
  expect([job.status, job.result]).toMatchObject(["succeeded", { rows: 2, distinct: 2, pairs: 0 }]);
  expect(worker.child.exitCode).toBeNull();
});

test("LEASE-01 a handler that computes without a pause keeps its lease and delays no other job", async () => {
  const burner = await compare("many.csv");
  await burning(burner);
  const startedAt = Date.now();
  const quick = await Promise.all(Array.from({ length: 10 }, () => stage.enqueue("quick")));
  for (const jobId of quick) expect((await stage.settled(jobId)).status).toBe("succeeded");
  const waits = await Promise.all(
    quick.map(
      async (jobId) => Date.parse((await stage.read(jobId)).started_at ?? "9999-01-01T00:00:00Z") - startedAt,
    ),
  );
  expect(Math.max(...waits)).toBeLessThan(20_000);
  // Without a renewal its lease of thirty seconds would have expired.
  await stage.database.query(
    "update app.live_jobs set lease_expires_at = least(lease_expires_at, app.now() + interval '12 s') where job_id = $1",
    [burner],
  );
  await waitFor(
    async () => {
      const { lease_expires_at: leaseExpiresAt } = await stage.read(burner);
      return leaseExpiresAt !== null && Date.parse(leaseExpiresAt) - Date.now() > 20_000;
    },
    { withinMs: 20_000, what: "the renewal of its lease" },
  );
  expect(await stage.statuses(burner)).toEqual(["running"]);

  const canceledAt = Date.now();
  await stage.cancel(burner);
  const ended = await stage.settled(burner);
  const graceMs = 5000;
  expect([ended.status, await stage.statuses(burner)]).toEqual(["canceled", ["canceled"]]);
  expect(Date.now() - canceledAt).toBeLessThan((TERM_WITHIN_MS + graceMs) * SLACK);
  console.info(`canceled after ${Date.now() - canceledAt} ms, of which ${graceMs} are its grace`);
  expect(worker.child.exitCode).toBeNull();
});

test("LEASE-10 a worker that gets SIGTERM ends the thread after the grace period and releases the job", async () => {
  const burner = await compare("many.csv");
  await burning(burner);
  const exited = new Promise((resolve) => worker.child.once("exit", (code) => resolve(code)));
  worker.child.kill("SIGTERM");
  expect(await exited).toBe(0);
  const job = await stage.read(burner);
  expect([job.status, job.attempt_count, await stage.statuses(burner)]).toEqual(["queued", 0, ["released"]]);
});
