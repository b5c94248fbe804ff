import { createHash, randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { makeFactory } from "@/lib/testing/rows/factories";
import type { ClaimedJob } from "../attempts/types";
import { extendLeases } from "../leases/hold-leases";
import { rescueExpiredLeases } from "../leases/rescue-expired-leases";
import { changedJobs } from "../read/changed-jobs";
import { getArtifact, listArtifacts, readArtifactChunk } from "./read-artifacts";
import {
  ARTIFACTS_PER_JOB,
  appendArtifact,
  beginArtifact,
  deleteStrayArtifacts,
  discardArtifacts,
  finishArtifact,
} from "./store-artifacts";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
afterAll(() => make.close());

const ROOMY = { jobBytes: 1_000_000, tenantBytes: 1_000_000_000 };
const TEXT = { name: "a.txt", contentType: "text/plain" };
const shaOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();

async function keep(job: ClaimedJob, name: string, chunks: readonly Buffer[], quota = ROOMY): Promise<string> {
  const id = await beginArtifact(make.worker, job, { name, contentType: "text/plain" });
  for (const [no, bytes] of chunks.entries()) await appendArtifact(make.worker, job, { id, no, bytes, quota });
  const whole = Buffer.concat(chunks);
  await finishArtifact(make.worker, job, { id, size: whole.length, sha256: shaOf(whole) });
  return id;
}

const usageOf = async (tenantId: string) =>
  Number((await database.query("select bytes from app.artifact_usage where tenant_id = $1", [tenantId]))[0]?.bytes);

async function loseLease(job: ClaimedJob): Promise<void> {
  const late = "update app.live_jobs set lease_expires_at = app.now() - interval '1 s' where job_id = $1";
  await database.query(late, [job.jobId]);
  await rescueExpiredLeases(make.worker, { limit: 10, random: () => 0 });
}

test("a complete artifact is visible byte for byte, to its tenant only", async () => {
  const job = await make.runningJob(scope);
  const [first, second] = [randomBytes(5000), randomBytes(10)];
  const id = await beginArtifact(make.worker, job, TEXT);
  await appendArtifact(make.worker, job, { id, no: 0, bytes: first, quota: ROOMY });
  expect(await listArtifacts(make.web, scope, job.jobId)).toEqual([]);
  await appendArtifact(make.worker, job, { id, no: 1, bytes: second, quota: ROOMY });
  // The chunk is sent again, because the answer was lost.
  await appendArtifact(make.worker, job, { id, no: 1, bytes: second, quota: ROOMY });
  const whole = Buffer.concat([first, second]);
  for (let times = 0; times < 2; times += 1) {
    await finishArtifact(make.worker, job, { id, size: whole.length, sha256: shaOf(whole) });
  }
  const [listed] = (await listArtifacts(make.web, scope, job.jobId)) ?? [];
  expect(listed).toMatchObject({
    id,
    name: "a.txt",
    size: 5010,
    chunks: 2,
    attempt_no: 1,
    sha256: shaOf(whole).toString("hex"),
  });
  expect(await readArtifactChunk(make.web, scope, id, 0)).toEqual(first);
  expect(await readArtifactChunk(make.web, scope, id, 1)).toEqual(second);
  const other = await make.tenant();
  expect(await listArtifacts(make.web, other, job.jobId)).toBeNull();
  expect(await getArtifact(make.web, other, { jobId: job.jobId, artifactId: id })).toBeNull();
  expect(await readArtifactChunk(make.web, other, id, 0)).toBeNull();
});

test("the feed of changed jobs includes a running job with a new artifact", async () => {
  const tenant = await make.tenant();
  const job = await make.runningJob(tenant);
  const { position } = await changedJobs(make.web, tenant);
  expect((await changedJobs(make.web, tenant, position)).changed).toEqual([]);
  await keep(job, "a", [Buffer.from("1")]);
  const { changed } = await changedJobs(make.web, tenant, position);
  expect(changed.map(({ id }) => id)).toEqual([job.jobId]);
});

test("an empty artifact is stored, and one whose size does not match is not", async () => {
  const job = await make.runningJob(scope);
  await keep(job, "empty", []);
  const id = await beginArtifact(make.worker, job, TEXT);
  const ended = finishArtifact(make.worker, job, { id, size: 1, sha256: shaOf(Buffer.alloc(0)) });
  await expect(ended).rejects.toMatchObject({ code: "artifact-gone" });
  expect((await listArtifacts(make.web, scope, job.jobId))?.map(({ name, size }) => [name, size])).toEqual([
    ["empty", 0],
  ]);
});

test("a worker that lost its lease cannot store or finish an artifact, and its partial artifact is deleted", async () => {
  const tenant = await make.tenant();
  const late = await make.runningJob(tenant);
  const bytes = Buffer.from("half");
  const id = await beginArtifact(make.worker, late, TEXT);
  await appendArtifact(make.worker, late, { id, no: 0, bytes, quota: ROOMY });
  await loseLease(late);
  const lost = { name: "LeaseLostError" };
  await expect(beginArtifact(make.worker, late, TEXT)).rejects.toMatchObject(lost);
  await expect(appendArtifact(make.worker, late, { id, no: 1, bytes, quota: ROOMY })).rejects.toMatchObject(lost);
  await expect(finishArtifact(make.worker, late, { id, size: 4, sha256: shaOf(bytes) })).rejects.toMatchObject(lost);
  expect(await usageOf(tenant.tenantId)).toBe(4);
  const running = await make.runningJob(tenant);
  const kept = await beginArtifact(make.worker, running, TEXT);
  while ((await deleteStrayArtifacts(make.scheduler, 100)) > 0);
  expect(await usageOf(tenant.tenantId)).toBe(0);
  expect(await database.query("select id from app.artifacts where tenant_id = $1", [tenant.tenantId])).toEqual([
    { id: kept },
  ]);
  await discardArtifacts(make.worker, running);
  expect(await database.query("select id from app.artifacts where tenant_id = $1", [tenant.tenantId])).toEqual([]);
});

test("an artifact of a later attempt replaces the one with its name, and both never count for the quota together", async () => {
  const tenant = await make.tenant();
  const first = await make.runningJob(tenant, { maxAttempts: 3 });
  const quota = { jobBytes: 100, tenantBytes: 1000 };
  await keep(first, "report", [randomBytes(80)], quota);
  await keep(first, "other", [randomBytes(20)], quota);
  await loseLease(first);
  await database.query("update app.live_jobs set ready = true where job_id = $1", [first.jobId]);
  const [second] = (await make.claim("w")).filter(({ jobId }) => jobId === first.jobId);
  if (!second) throw new Error("the job was not claimed");
  await keep(second, "report", [randomBytes(70)], quota);
  const listed = await listArtifacts(make.web, tenant, first.jobId);
  expect(listed?.map(({ name, size, attempt_no: attemptNo }) => [name, size, attemptNo])).toEqual([
    ["other", 20, 1],
    ["report", 70, 2],
  ]);
  expect(await usageOf(tenant.tenantId)).toBe(90);
});

test("a retry has the full quota of its job, also after a dead worker and with concurrent writers", async () => {
  const tenant = await make.tenant();
  const first = await make.runningJob(tenant, { maxAttempts: 9 });
  const quota = { jobBytes: 100, tenantBytes: 1000 };
  const begin = (job: ClaimedJob, name: string) => beginArtifact(make.worker, job, { ...TEXT, name });
  const append = (job: ClaimedJob, id: string, no: number) =>
    appendArtifact(make.worker, job, { id, no, bytes: randomBytes(25), quota });
  const retried = async (job: ClaimedJob) => {
    await loseLease(job);
    await database.query("update app.live_jobs set ready = true where job_id = $1", [job.jobId]);
    const [next] = (await make.claim("w")).filter(({ jobId }) => jobId === job.jobId);
    if (!next) throw new Error("the job was not claimed");
    return next;
  };
  const half = await begin(first, "of-a-dead-worker");
  for (let no = 0; no < 4; no += 1) await append(first, half, no);
  const second = await retried(first);
  for (const name of ["a", "b"]) await keep(second, name, [randomBytes(50)], quota);
  expect(await usageOf(tenant.tenantId)).toBe(100);
  const third = await retried(second);
  const both = [await begin(third, "a"), await begin(third, "b")];
  for (const no of [0, 1]) for (const id of both) await append(third, id, no);
  await expect(append(third, both[0] ?? "", 2)).rejects.toMatchObject({ code: "artifact-quota" });
  // Discarding unfinished artifacts keeps the earlier ones, which count again.
  await discardArtifacts(make.worker, third);
  await expect(append(third, await begin(third, "c"), 0)).rejects.toMatchObject({ code: "artifact-quota" });
});

test("quotas of job and tenant are exact under concurrent writers and can be used up completely", async () => {
  const tenant = await make.tenant();
  const jobs = [await make.runningJob(tenant), await make.runningJob(tenant), await make.runningJob(tenant)];
  const quota = { jobBytes: 400, tenantBytes: 1000 };
  const writes = jobs.flatMap((job) =>
    Array.from({ length: 8 }, async (_, at) => {
      const id = await beginArtifact(make.worker, job, { ...TEXT, name: `${at}` });
      await appendArtifact(make.worker, job, { id, no: 0, bytes: randomBytes(100), quota });
    }),
  );
  const ends = await Promise.allSettled(writes);
  const refused = ends.flatMap((end) => (end.status === "rejected" ? [end.reason.code] : []));
  expect(refused).toEqual(Array.from({ length: 14 }, () => "artifact-quota"));
  expect(await usageOf(tenant.tenantId)).toBe(1000);
  const sums = await database.query<{ sum: string }>(
    "select sum(size) from app.artifacts where tenant_id = $1 group by job_id order by 1 desc",
    [tenant.tenantId],
  );
  expect(sums.map(({ sum }) => Number(sum))).toEqual([400, 400, 200]);
});

test("a job has 100 artifacts at most, also with concurrent writers", async () => {
  const job = await make.runningJob(scope);
  const begun = Array.from({ length: ARTIFACTS_PER_JOB + 3 }, (_, at) =>
    beginArtifact(make.worker, job, { ...TEXT, name: `${at}` }),
  );
  const ends = await Promise.allSettled(begun);
  expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(3);
});

test("a lease is renewed and not rescued while an upload of its attempt waits", async () => {
  const tenant = await make.tenant();
  const job = await make.runningJob(tenant);
  const id = await beginArtifact(make.worker, job, TEXT);
  const other = new pg.Client({ connectionString: database.adminUrl });
  await other.connect();
  await other.query("begin");
  await other.query("select 1 from app.artifact_usage where tenant_id = $1 for update", [tenant.tenantId]);
  const upload = appendArtifact(make.worker, job, { id, no: 0, bytes: Buffer.from("1"), quota: ROOMY });
  const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%append_artifact%'";
  await waitFor(async () => (await database.query(waiting)).length > 0);
  const { renewed, locked } = await extendLeases(make.worker, [{ ...job, leaseSeconds: 30 }]);
  await loseLease(job);
  const held = await database.query("select 1 from app.live_jobs where job_id = $1 and state = 'running'", [job.jobId]);
  await other.query("rollback");
  await other.end();
  await upload;
  expect([renewed.length, locked, held.length]).toEqual([1, [], 1]);
});

test("a retry may replace all artifacts of its job at the same time", async () => {
  const job = await make.runningJob(scope);
  const names = Array.from({ length: ARTIFACTS_PER_JOB }, (_, at) => `${at}`);
  for (const name of names) await keep(job, name, []);
  for (const name of names) await beginArtifact(make.worker, job, { ...TEXT, name });
  await expect(beginArtifact(make.worker, job, { ...TEXT, name: "one more" })).rejects.toMatchObject({
    code: "artifact-quota",
  });
  await discardArtifacts(make.worker, job);
});

test("artifacts are deleted with their job and with its partition", async () => {
  const tenant = await make.tenant();
  const [one, two] = [await make.runningJob(tenant), await make.runningJob(tenant)];
  await keep(one, "a", [Buffer.from("12345")]);
  await keep(two, "b", [Buffer.from("123")]);
  await database.query("delete from app.jobs where id = $1", [one.jobId]);
  expect(await usageOf(tenant.tenantId)).toBe(3);
  // Dropping a partition runs no trigger.
  await database.query("alter table app.jobs disable trigger delete_artifacts");
  await database.query("delete from app.jobs where id = $1", [two.jobId]);
  await database.query("alter table app.jobs enable trigger delete_artifacts");
  await deleteStrayArtifacts(make.scheduler, 1000);
  expect(await usageOf(tenant.tenantId)).toBe(0);
  const left = "select 1 from app.artifact_chunks where tenant_id = $1";
  expect(await database.query(left, [tenant.tenantId])).toEqual([]);
  await database.query("delete from app.live_jobs where tenant_id = $1", [tenant.tenantId]);
});
