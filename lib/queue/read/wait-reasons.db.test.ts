import { afterAll, expect, test } from "vitest";
import {
  createLimit,
  enqueueJobs,
  getJob,
  listJobs,
  pause,
  pauseJob,
  registerWorker,
  SYSTEM,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

const WORKER = { hostname: "h", pid: 1, version: "", label: "", queues: [], capacity: 1, isolation: "" };

test("a list shows the same wait reason as the job's own page, for every reason", async () => {
  const [own, other] = [await make.tenant(), await make.tenant()];
  const keys = ["limited", "rated", "plain", "unserved", "stopped"];
  for (const key of keys) await make.definition({ key });
  const served = keys.filter((key) => key !== "unserved");
  await registerWorker(make.worker, { ...WORKER, workerId: "w", definitions: served });
  await createLimit(make.platform, { scope: "definition", definition_key: "limited", max_running: 1 });
  await createLimit(make.platform, {
    scope: "tenant_definition",
    definition_key: "rated",
    starts_per_second: 1,
    burst: 1,
  });
  const later = new Date(Date.now() + 3_600_000);
  const made = await enqueueJobs(make.web, own, [
    ...["limited", "rated"].flatMap((definitionKey) => Array.from({ length: 3 }, () => ({ definitionKey }))),
    ...Array.from({ length: 12 }, (_, n) => ({ definitionKey: "plain", priority: 60 + (n % 5) })),
    { definitionKey: "unserved" },
    { definitionKey: "stopped" },
    { definitionKey: "plain", scheduledFor: later },
    { definitionKey: "plain", ref: "a", scheduledFor: later },
    { definitionKey: "plain", ref: "b", scheduledFor: later },
    { definitionKey: "plain", dependsOn: [{ ref: "a" }, { ref: "b" }] },
    { definitionKey: "plain", dependsOn: [{ ref: "b" }] },
  ]);
  await make.job(other, { definitionKey: "plain", priority: 60 });
  await pauseJob(make.web, own, made[17]?.jobId ?? "");
  await pause(make.platform, SYSTEM, { scope: "definition", definition_key: "stopped", reason: "stock-taking" });
  // Each limit allows one running job or one start, so the two limits stop the jobs that a claim leaves behind.
  await make.claim("w", 3);

  const { jobs } = await listJobs(make.web, own, {}, { limit: 200 });
  expect(jobs).toHaveLength(made.length);
  // Read at the same time, because a limit is only named for a few seconds after it limited a job.
  const alone = await Promise.all(jobs.map(({ id }) => waitReasonOf(own, id)));
  expect(jobs.map(({ id, wait_reason: waitReason }) => [id, waitReason])).toEqual(
    jobs.map(({ id }, n) => [id, alone[n]]),
  );
  const codes = new Set(jobs.map((job) => job.wait_reason?.code));
  for (const code of ["at_limit", "rate_limited", "position", "no_worker", "paused", "scheduled", "blocked"] as const)
    expect(codes, code).toContain(code);
});

test("a list reads positions and limits in one statement, however many of its jobs wait", async () => {
  const own = await make.tenant();
  const { key } = await make.definition();
  await enqueueJobs(
    make.web,
    own,
    Array.from({ length: 60 }, (_, n) => ({ definitionKey: key, priority: 1 + ((n * 37) % 250) })),
  );
  await registerWorker(make.worker, { ...WORKER, workerId: "w2", definitions: [key] });
  const { jobs } = await listJobs(make.web, own, {}, { limit: 200 });
  for (const job of jobs.slice(0, 20)) expect(job.wait_reason).toEqual(await waitReasonOf(own, job.id));
  expect(new Set(jobs.map((job) => job.wait_reason?.code))).toEqual(new Set(["position"]));
});

async function waitReasonOf(scope: Parameters<typeof getJob>[1], id: string) {
  return (await getJob(make.web, scope, id))?.wait_reason;
}
