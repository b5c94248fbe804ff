import { afterAll, expect, test } from "vitest";
import { type Database, statement, withTenant } from "@/lib/db";
import { cancelJob, enqueueJob, enqueueJobs, type NewJob, settleAttempts, updateDefinition } from "@/lib/queue";
import { succeeded } from "@/lib/testing/attempt-ends";
import { testDatabase } from "@/lib/testing/database";
import { makeLinkedJobs } from "@/lib/testing/linked-jobs";

const database = await testDatabase();
const { make, scope, definitionKey, statusOf } = await makeLinkedJobs(database);
afterAll(() => make.close());

interface Scans {
  readonly seq_scan: number;
  readonly idx_scan: number;
}

const scansSql = statement(
  "scans_of_test",
  `select relname, seq_scan::int, idx_scan::int from pg_stat_xact_user_tables
   where relname in ('live_jobs', 'tenants') order by relname`,
);

/** What one call that enqueues so many children of an existing job reads of the backlog and of the tenants. */
function scansOf(children: number) {
  return withTenant(make.web, scope.tenantId, async (tx) => {
    const { jobId } = await enqueueJob(tx, scope, { definitionKey });
    const jobs = Array.from({ length: children }, (): NewJob => ({ definitionKey, dependsOn: [{ jobId }] }));
    // Counts of earlier transactions may be among them.
    const before = await tx.run<Scans>(scansSql, []);
    await enqueueJobs(tx, scope, jobs);
    const [live, tenants] = (await tx.run<Scans>(scansSql, [])).map((after, n) => ({
      scans: after.seq_scan - (before[n]?.seq_scan ?? Number.NaN),
      lookups: after.idx_scan - (before[n]?.idx_scan ?? Number.NaN),
    }));
    return { backlogScans: live?.scans, liveLookups: live?.lookups, tenantLookups: tenants?.lookups };
  });
}

test("a link looks up neither its tenant nor a live row: a batch of 300 reads what a batch of 3 reads", async () => {
  await scansOf(3);
  const few = await scansOf(3);
  expect(few.backlogScans).toBe(0);
  expect(await scansOf(300)).toEqual(few);
});

test("a linked batch is one statement, in a transaction of its own", async () => {
  const { jobId } = await enqueueJob(make.web, scope, { definitionKey });
  const sent: string[] = [];
  const web: Database = {
    ...make.web,
    run: (sql, values) => {
      sent.push(sql.name.replace(/_[0-9a-f]{8}$/, ""));
      return make.web.run(sql, values);
    },
    transaction: (work, options) => {
      sent.push("transaction");
      return make.web.transaction(work, options);
    },
  };
  const jobs: NewJob[] = [
    { definitionKey, ref: "last", dependsOn: [{ ref: "middle" }, { jobId }] },
    { definitionKey, ref: "middle", dependsOn: [{ ref: "first" }] },
    { definitionKey, ref: "first" },
  ];
  await enqueueJobs(web, scope, jobs);
  sent.length = 0;
  const [last, middle, first] = (await enqueueJobs(web, scope, jobs)).map((job) => job.jobId);
  expect(sent.filter((name) => name !== "wake")).toEqual(["enqueue_jobs"]);
  expect([first, middle, last].toSorted()).toEqual([first, middle, last]);
});

test("in a transaction, a parent that does not exist is refused and the transaction goes on", async () => {
  const ends = await withTenant(make.web, scope.tenantId, async (tx) => {
    const missing: NewJob = { definitionKey, dependsOn: [{ jobId: "00000000-0000-7000-8000-000000000000" }] };
    await expect(enqueueJobs(tx, scope, [missing])).rejects.toMatchObject({
      problems: [{ pointer: "/jobs/0/depends_on/0/job_id", code: "job-unknown" }],
    });
    return enqueueJob(tx, scope, { definitionKey });
  });
  expect(await statusOf(ends.jobId)).toBe("queued");
});

test("a linked batch answers where each of its jobs stands at its end, in the order given", async () => {
  const [over, bad] = [await make.runningJob(scope), await make.job(scope)];
  await settleAttempts(make.worker, [succeeded(over)]);
  await cancelJob(make.web, scope, bad.id);
  const [later, open] = [new Date(Date.now() + 60_000), await make.job(scope)];
  const accepted = await enqueueJobs(make.web, scope, [
    { definitionKey, ref: "below", dependsOn: [{ ref: "ends" }] },
    { definitionKey, dependsOn: [{ jobId: over.jobId }] },
    { definitionKey, scheduledFor: later, priority: 7 },
    { definitionKey, dependsOn: [{ jobId: open.id }, { jobId: over.jobId }] },
    { definitionKey, ref: "ends", dependsOn: [{ jobId: bad.id }] },
    { definitionKey, dependsOn: [{ jobId: over.jobId }], scheduledFor: later },
  ]);
  const states = ["canceled", "queued", "queued", "blocked", "canceled", "queued"];
  expect(accepted.map(({ status }) => status)).toEqual(states);
  expect(await Promise.all(accepted.map(({ jobId }) => statusOf(jobId)))).toEqual(states);
  expect([accepted[2]?.scheduledFor, accepted[5]?.scheduledFor]).toEqual([later, later]);
});

test("a linked batch is checked against the definition as it is, whatever an earlier one has read", async () => {
  const definition = await make.definition({ argSchema: { type: "object" } });
  const linked = (payload: unknown): NewJob[] => [
    { definitionKey: definition.key, ref: "a", payload },
    { definitionKey: definition.key, dependsOn: [{ ref: "a" }], payload },
  ];
  await enqueueJobs(make.web, scope, linked({}));
  const change = (patch: Parameters<typeof updateDefinition>[2]["patch"]) =>
    updateDefinition(make.platform, scope.actor, { id: definition.id, patch });
  await change({ argSchema: { type: "object", required: ["n"] } });
  expect(await enqueueJobs(make.web, scope, linked({ n: 1 }))).toHaveLength(2);
  await change({ argSchema: { type: "object", required: ["m"] } });
  await expect(enqueueJobs(make.web, scope, linked({ n: 1 }))).rejects.toMatchObject({ code: "payload-invalid" });
  await change({ isActive: false });
  await expect(enqueueJobs(make.web, scope, linked({ m: 1 }))).rejects.toMatchObject({ code: "definition-inactive" });
});
