import { afterAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { rescueExpiredLeases } from "../leases/rescue-expired-leases";
import { getJob } from "../read/get-job";
import { listJobs } from "../read/list-jobs";
import type { NewJob, TenantScope } from "../types";
import { settleAttempts } from "./settle-attempts";
import type { ClaimedJob } from "./types";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
const { key } = await make.definition({ arg_schema: { type: "object", properties: { n: { type: "integer" } } } });
afterAll(() => make.close());

const child = (parent: ClaimedJob, job: Partial<NewJob> = {}): NewJob => ({
  definitionKey: key,
  parentJobId: parent.jobId,
  source: "system",
  ...job,
});
const childrenOf = async (of: TenantScope, parentJobId: string) =>
  (await listJobs(make.web, of, { parent_job_id: parentJobId }, { limit: 50 })).jobs;

test("G-04 children are enqueued in the transaction of their parent's end, for its tenant", async () => {
  const parent = await make.runningJob(scope);
  const children = [child(parent, { payload: { n: 1 }, correlationId: "c" }), child(parent, { dedupeKey: "only" })];
  const settled = await settleAttempts(make.worker, [{ ...succeeded(parent), children }]);
  expect([settled.settled, settled.refused]).toEqual([[parent.jobId], []]);
  expect((await getJob(make.web, scope, parent.jobId))?.status).toBe("succeeded");
  const found = await childrenOf(scope, parent.jobId);
  expect(found.map(({ status, tenant_id: tenantId, source }) => [status, tenantId, source])).toEqual(
    Array(2).fill(["queued", scope.tenantId, "system"]),
  );
  expect(found.map(({ correlation_id: correlationId }) => correlationId)).toContain("c");
  expect(await childrenOf(await make.tenant(), parent.jobId)).toEqual([]);
});

test("G-04 LEASE-01 a late attempt enqueues no children", async () => {
  const late = await make.runningJob(scope);
  await database.query("update app.live_jobs set lease_expires_at = app.now() - interval '1 s' where job_id = $1", [
    late.jobId,
  ]);
  await rescueExpiredLeases(make.worker, { limit: 10, random: () => 0 });
  const settled = await settleAttempts(make.worker, [{ ...succeeded(late), children: [child(late)] }]);
  expect([settled.settled, settled.lost]).toEqual([[], [late.jobId]]);
  expect(await childrenOf(scope, late.jobId)).toEqual([]);
});

test.each<[string, Partial<NewJob>, string]>([
  ["a definition that is not there", { definitionKey: "no-such-definition" }, "Definition not found"],
  ["a payload that does not fit", { payload: { n: "one" } }, "/payload/n"],
  ["a value that cannot be stored", { tags: [""] }, "/tags/0"],
])("G-04 %s refuses the end: the lease is kept, and nothing is written", async (_what, wrong, reason) => {
  const parent = await make.runningJob(scope);
  const children = [child(parent), child(parent, wrong)];
  const settled = await settleAttempts(make.worker, [{ ...succeeded(parent), children }]);
  expect(settled.refused).toEqual([{ jobId: parent.jobId, reason: expect.stringContaining(reason), isLater: false }]);
  expect(await childrenOf(scope, parent.jobId)).toEqual([]);
  expect((await getJob(make.web, scope, parent.jobId))?.status).toBe("running");
  expect((await settleAttempts(make.worker, [succeeded(parent)])).settled).toEqual([parent.jobId]);
});

test("an end with output that cannot be stored still enqueues its children and does not delay its batch", async () => {
  const [bad, good] = [await make.runningJob(scope), await make.runningJob(scope)];
  const poison = { ...succeeded(bad), children: [child(bad)], output: { pid: 2 ** 40 } };
  const settled = await settleAttempts(make.worker, [poison, succeeded(good)]);
  expect(settled.settled.toSorted()).toEqual([bad.jobId, good.jobId].toSorted());
  expect(await childrenOf(scope, bad.jobId)).toHaveLength(1);
});

test("RLS-8 enqueuing children leaves no tenant set on the worker's connection", async () => {
  const parent = await make.runningJob(scope);
  await settleAttempts(make.worker, [{ ...succeeded(parent), children: [child(parent)] }]);
  const other = await make.runningJob(await make.tenant());
  expect((await settleAttempts(make.worker, [succeeded(other)])).settled).toEqual([other.jobId]);
});

test("G-04 A-04 children can depend on each other and on the result of their parent", async () => {
  const parent = await make.runningJob(scope);
  const children = [
    child(parent, { ref: "last", dependsOn: [{ ref: "first" }] }),
    child(parent, {
      ref: "first",
      dependsOn: [{ jobId: parent.jobId, type: "data", as: "parent" }],
      payload: { n: "{{parents.parent.result.n}}" },
    }),
  ];
  const settled = await settleAttempts(make.worker, [{ ...succeeded(parent, { n: 3 }), children }]);
  expect(settled.refused).toEqual([]);
  const found = await childrenOf(scope, parent.jobId);
  expect(found.map(({ status }) => status).sort()).toEqual(["blocked", "queued"]);
  const first = found.find(({ status }) => status === "queued");
  expect((await getJob(make.web, scope, first?.id ?? ""))?.payload).toEqual({ n: 3 });
});
