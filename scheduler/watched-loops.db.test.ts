import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { createLogger } from "@/lib/observability/log";
import { type ClaimedJob, runTrigger, settleAttempts, startAttempts, type TenantScope } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { listener } from "@/lib/testing/rows/listener";
import { watchFolders } from "./watch-folders";

const database = await testDatabase();
const make = makeFactory(database);
const root = realpathSync(mkdtempSync(path.join(tmpdir(), "leasehold-loop-")));
const definition = await make.definition();
const LEADER = { leaderId: "the-leader", term: 7 };
const MAX_DEPTH = 3;
afterAll(async () => {
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  await make.close();
});

let scope: TenantScope;
let triggerId: string;
let folder: string;
let lines: string[];
let look: () => Promise<unknown>;

beforeEach(async () => {
  await database.query("update app.leader set leader_id = $1, term = $2", [LEADER.leaderId, LEADER.term]);
  await database.query("delete from app.providers");
  await database.query("delete from app.live_jobs");
  scope = await make.tenant();
  folder = mkdtempSync(path.join(root, "folder "));
  await database.query("insert into app.providers (tenant_id, name, path) values ($1, $2, $2)", [
    scope.tenantId,
    folder,
  ]);
  const fields = { eventName: "provider.folder.updated", dedupeWindowSeconds: 0, definitionId: definition.id };
  triggerId = await listener(database, scope, { ...fields, payloadTemplate: { changed: "{{event.changed_folders}}" } });
  lines = [];
  const log = createLogger({
    process: "scheduler",
    level: "warn",
    format: "json",
    stream: { write: (line: string) => void lines.push(line) },
  });
  const loop = watchFolders({ restFactor: 0, changes: [] });
  const inTerm = () => Promise.reject(new Error("not used"));
  const turn = { db: make.scheduler, web: make.web, leader: LEADER, log, random: () => 0.5, inTerm };
  look = () => loop({ ...turn, providerRoots: [root], eventMaxDepth: MAX_DEPTH });
  await look();
});

let files = 0;
const write = () => writeFileSync(path.join(folder, `file-${files++}`), "1");
const change = async () => {
  write();
  await look();
};

async function begin(): Promise<ClaimedJob> {
  const [job] = await make.claim("the-worker", 1);
  if (!job) throw new Error("there is no job");
  await startAttempts(make.worker, [job]);
  return job;
}
const end = (job: ClaimedJob) => settleAttempts(make.worker, [succeeded(job)]);

/** Outcome and reason of each firing, with the chain depth of its job. */
const firings = () =>
  database
    .query(
      `select f.outcome, f.reason, j.chain_depth as depth from app.trigger_firings f left join app.jobs j on j.id = f.job_id
       where f.trigger_id = $1 order by f.id`,
      [triggerId],
    )
    .then((rows) => rows.map(({ outcome, reason, depth }) => [outcome, reason ?? depth]));

/** Reads the folders some seconds after the last job has ended. */
async function lookLater(): Promise<void> {
  await look();
  await database.query("update app.job_attempts set finished_at = finished_at - interval '5 s'");
}

const LOOP = [
  ["enqueued", 1],
  ["enqueued", 2],
  ["enqueued", 3],
];
const HELD = ["skipped", "loop_suspected"];

/** Runs jobs that write into their own folder until no further job follows. */
async function loopUntilItEnds(): Promise<void> {
  await change();
  for (let lap = 0; lap < MAX_DEPTH; lap += 1) {
    const job = await begin();
    await change();
    await end(job);
  }
  expect(await make.claim("the-worker", 1)).toEqual([]);
  await lookLater();
}

test("the loop of a job that writes into its own watched folder ends at the limit, and the last change is held", async () => {
  await loopUntilItEnds();
  expect(await firings()).toEqual([...LOOP, HELD]);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { msg: "loop suspected, the folder's change is held", trigger_ids: [triggerId] },
  ]);
});

test("a held change starts its job with the next change that no job of its trigger can have caused", async () => {
  await loopUntilItEnds();
  await change();
  expect(await firings()).toEqual([...LOOP, ["enqueued", 1], ["enqueued", 1]]);
});

test("a write between two scans counts as the job's, also when the job has ended by the second", async () => {
  await change();
  const job = await begin();
  write();
  await end(job);
  await look();
  await end(await begin());
  await lookLater();
  await change();
  expect(await firings()).toEqual([
    ["enqueued", 1],
    ["enqueued", 2],
    ["enqueued", 1],
  ]);
});

test("a busy folder continues: outside changes while one job runs start a job each", async () => {
  await change();
  await begin();
  for (let n = 0; n < 2 * MAX_DEPTH; n += 1) await change();
  expect(await firings()).toEqual([["enqueued", 1], ...Array(2 * MAX_DEPTH).fill(["enqueued", 2])]);
});

test("a held change can be run manually, and is not run again", async () => {
  await loopUntilItEnds();
  const { job } = await runTrigger(make.web, scope, { triggerId });
  expect(job.payload).toEqual({ changed: 1 });
  await change();
  expect(await firings()).toEqual([...LOOP, ["skipped", "loop"], ["enqueued", 0], ["enqueued", 1]]);
});
