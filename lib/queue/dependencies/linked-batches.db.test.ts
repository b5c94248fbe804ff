import { afterAll, expect, test } from "vitest";
import { type Database, statement, withTenant } from "@/lib/db";
import {
  cancelJob,
  enqueueJob,
  enqueueJobs,
  getJob,
  type NewJob,
  settleAttempts,
  updateDefinition,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeLinkedJobs } from "@/lib/testing/rows/linked-jobs";

const database = await testDatabase();
const { make, scope, definitionKey, statusOf } = await makeLinkedJobs(database);
afterAll(() => make.close());

const TAGS = ["a", "b,c"];
const META = { deep: [1, null] };

interface Scans {
  readonly seq_scan: number;
  readonly idx_scan: number;
}

const scansSql = statement(
  "scans_of_test",
  `select relname, seq_scan::int, idx_scan::int from pg_stat_xact_user_tables
   where relname in ('live_jobs', 'tenants') order by relname`,
);

/**
 * Counts the reads of the backlog and of the tenants by one call that enqueues `children` children of an existing job.
 */
function scansOf(children: number) {
  return withTenant(make.web, scope.tenantId, async (tx) => {
    const { jobId } = await enqueueJob(tx, scope, { definitionKey });
    const jobs = Array.from({ length: children }, (): NewJob => ({ definitionKey, dependsOn: [{ jobId }] }));
    // Counts of earlier transactions may be included.
    const before = await tx.run<Scans>(scansSql, []);
    await enqueueJobs(tx, scope, jobs);
    const [live, tenants] = (await tx.run<Scans>(scansSql, [])).map((after, n) => ({
      scans: after.seq_scan - (before[n]?.seq_scan ?? Number.NaN),
      lookups: after.idx_scan - (before[n]?.idx_scan ?? Number.NaN),
    }));
    return { backlogScans: live?.scans, liveLookups: live?.lookups, tenantLookups: tenants?.lookups };
  });
}

test("a link reads neither its tenant nor a live row: a batch of 300 scans as much as a batch of 3", async () => {
  await scansOf(3);
  const few = await scansOf(3);
  expect(few.backlogScans).toBe(0);
  expect(await scansOf(300)).toEqual(few);
});

test("a linked batch is one statement in its own transaction", async () => {
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

test("a parent that does not exist is refused without aborting the caller's transaction", async () => {
  const ends = await withTenant(make.web, scope.tenantId, async (tx) => {
    const missing: NewJob = { definitionKey, dependsOn: [{ jobId: "00000000-0000-7000-8000-000000000000" }] };
    await expect(enqueueJobs(tx, scope, [missing])).rejects.toMatchObject({
      problems: [{ pointer: "/jobs/0/depends_on/0/job_id", code: "job-unknown" }],
    });
    return enqueueJob(tx, scope, { definitionKey });
  });
  expect(await statusOf(ends.jobId)).toBe("queued");
});

test("a linked batch returns each job's final status, in the order of the request", async () => {
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

test("a linked batch is checked against the current definition, even if an earlier batch cached another version", async () => {
  const definition = await make.definition({ arg_schema: { type: "object" } });
  const linked = (payload: unknown): NewJob[] => [
    { definitionKey: definition.key, ref: "a", payload },
    { definitionKey: definition.key, dependsOn: [{ ref: "a" }], payload },
  ];
  await enqueueJobs(make.web, scope, linked({}));
  const change = (patch: Parameters<typeof updateDefinition>[2]["patch"]) =>
    updateDefinition(make.platform, scope.actor, { id: definition.id, patch });
  await change({ arg_schema: { type: "object", required: ["n"] } });
  expect(await enqueueJobs(make.web, scope, linked({ n: 1 }))).toHaveLength(2);
  await change({ arg_schema: { type: "object", required: ["m"] } });
  await expect(enqueueJobs(make.web, scope, linked({ n: 1 }))).rejects.toMatchObject({ code: "payload-invalid" });
  await change({ is_active: false });
  await expect(enqueueJobs(make.web, scope, linked({ m: 1 }))).rejects.toMatchObject({ code: "definition-inactive" });
});

test("a refusal after a retry for a changed definition has the same pointer as one without", async () => {
  const definition = await make.definition();
  const queued: NewJob = { definitionKey: definition.key, queue: "no-such-queue" };
  const orphan: NewJob = {
    definitionKey: definition.key,
    dependsOn: [{ jobId: "00000000-0000-7000-8000-000000000000" }],
  };
  for (const [job, refusal] of [
    [queued, { code: "queue-unknown", problems: [{ pointer: "/jobs/1/queue" }] }],
    [orphan, { code: "invalid-value", problems: [{ pointer: "/jobs/1/depends_on/0/job_id", code: "job-unknown" }] }],
  ] as const) {
    await enqueueJob(make.web, scope, { definitionKey: definition.key });
    await updateDefinition(make.platform, scope.actor, {
      id: definition.id,
      patch: { arg_schema: { type: "object" } },
    });
    await expect(enqueueJobs(make.web, scope, [{ definitionKey: definition.key }, job])).rejects.toMatchObject(refusal);
  }
});

test("linked jobs that share all other fields are stored like jobs that do not: values, order and schema", async () => {
  const { key } = await make.definition({ arg_schema: { type: "object", required: ["n"] } });
  const later = new Date(Date.now() + 3_600_000);
  const job = (payload: unknown, more: Partial<NewJob> = {}): NewJob => {
    const common = { priority: 7, scheduledFor: later, correlationId: "c", tags: TAGS, metadata: META, maxAttempts: 4 };
    return { definitionKey: key, ...common, payload, ...more };
  };
  const jobs = [
    job({ n: 1 }, { dependsOn: [{ ref: "b" }], onParentFailure: "run" }),
    job({ m: "{{parents.a.result.m}}" }, { ref: "b", dependsOn: [{ ref: "a", type: "data" }] }),
    job({ n: 'ü"' }, { ref: "a" }),
  ];
  await enqueueJob(make.web, scope, job({ n: 0 }));
  const stored = async (batch: readonly NewJob[]) => {
    const ids = (await enqueueJobs(make.web, scope, batch)).map(({ jobId }) => jobId);
    const place = (id: string) => [...ids].sort().indexOf(id);
    const edges = await database.query<{ child_id: string; parent_id: string }>(
      "select child_id, parent_id, alias, type, on_failure, bindings from app.job_dependencies where child_id = any ($1) order by child_id",
      [ids],
    );
    const views = await Promise.all(ids.slice(0, jobs.length).map((id) => getJob(make.web, scope, id)));
    return {
      places: ids.slice(0, jobs.length).map(place),
      edges: edges.map(({ child_id, parent_id, ...edge }) => [place(child_id), place(parent_id), edge]),
      views: views.map(
        (view) =>
          view && [
            view.payload,
            view.priority,
            view.tags,
            view.metadata,
            view.correlation_id,
            view.max_attempts,
            view.scheduled_for,
            view.status,
          ],
      ),
    };
  };
  const alike = await stored(jobs);
  expect(alike.places).toEqual([2, 1, 0]);
  expect(alike.views.map((view) => view?.at(-1))).toEqual(["blocked", "blocked", "queued"]);
  const unlike = await stored([
    ...jobs,
    job({ n: 4 }, { ref: "z", correlationId: "other", dependsOn: [{ ref: "b" }] }),
  ]);
  expect(unlike.views).toEqual(alike.views);
  expect(unlike.edges.slice(0, 2)).toEqual(alike.edges);
  await expect(enqueueJobs(make.web, scope, [...jobs, job({ m: 1 })])).rejects.toMatchObject({
    code: "payload-invalid",
    problems: [{ pointer: "/jobs/3/payload/n" }],
  });
});
