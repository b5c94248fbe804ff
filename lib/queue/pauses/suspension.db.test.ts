import pg from "pg";
import { afterAll, beforeEach, expect, test } from "vitest";
import { statement } from "@/lib/db";
import {
  createLimit,
  describeLanes,
  endPause,
  FairShare,
  getJob,
  listPauses,
  pause,
  pollWork,
  SYSTEM,
  type TenantScope,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { settleAttempts } from "../attempts/settle-attempts";
import { claimFromLanes } from "../claim/claim-jobs";
import { deleteLimit } from "../limits/limits.drizzle";
import { listTenantQueues } from "../queues/queues.drizzle";
import { RemoteLanes } from "../remote/remote-lanes";
import { claimRemoteJobs } from "../remote/remote-work";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const [acme, globex] = [await make.tenant("acme"), await make.tenant("globex")];
await make.definition({ key: "near" });
await make.definition({ key: "far", executor: "remote" });
beforeEach(async () => {
  await setStatus(acme, "active");
  await database.query("delete from app.pauses");
  await database.query("delete from app.live_jobs");
});

const setStatusSql = statement("set_tenant_status", "update app.tenants set status = $2 where id = $1");
const setStatus = (scope: TenantScope, status: "active" | "suspended") =>
  make.platform.run(setStatusSql, [scope.tenantId, status]);
const put = async (scope: TenantScope, definitionKey = "near") => (await make.job(scope, { definitionKey })).id;

/** Claims from every lane, like a worker that does not know of any suspension. */
async function claimFromMemory(): Promise<string[]> {
  const rows = await database.query<{ lane_no: number; limited: boolean }>(
    `select lane_no, exists (select 1 from app.limits_on(queue_id, definition_id, tenant_id)) as limited from app.lanes`,
  );
  const lanes = rows.map((row) => ({ laneNo: row.lane_no, limited: row.limited, limit: 10, leaseSeconds: 30 }));
  return (await claimFromLanes(make.worker, { workerId: "stale", lanes, limit: 100 })).jobs.map(({ jobId }) => jobId);
}

async function claimRemote(): Promise<string[]> {
  const scope = { definitions: ["far"], queues: null, tenantId: null };
  const request = { workerId: "remote:k:w", scope, limit: 10, leaseSeconds: undefined, share: new FairShare() };
  return (await claimRemoteJobs(make.worker, { ...request, lanes: new RemoteLanes() }, Math.random)).jobs.map(
    ({ jobId }) => jobId,
  );
}

test("no claim of any kind starts a job of a suspended tenant; when the suspension ends its jobs run", async () => {
  const held = { near: await put(acme), far: await put(acme, "far") };
  const free = { near: await put(globex), far: await put(globex, "far") };
  const poll = async () => (await pollWork(make.worker, { workerId: "w", afterLane: 0, maxLanes: 256 })).lanes;
  const before = (await poll()).map(({ laneNo }) => laneNo);
  expect(before).toHaveLength(4);
  await setStatus(acme, "suspended");
  expect(await poll()).toHaveLength(2);
  expect(await describeLanes(make.worker, before)).toHaveLength(2);
  expect(await claimRemote()).toEqual([free.far]);
  expect(await claimFromMemory()).toEqual([free.near]);
  await setStatus(acme, "active");
  expect(await claimRemote()).toEqual([held.far]);
  expect(await claimFromMemory()).toEqual([held.near]);
});

test("a suspended tenant gets no slot under a limit", async () => {
  const { id } = await createLimit(make.platform, { scope: "queue", queue: "default", max_running: 1 });
  const held = await put(acme);
  await setStatus(acme, "suspended");
  const free = await put(globex);
  expect(await claimFromMemory()).toEqual([free]);
  expect(await database.query("select 1 from app.claim_reservations")).toEqual([]);
  await deleteLimit(make.platform, id);
  await setStatus(acme, "active");
  expect(await claimFromMemory()).toEqual([held]);
});

test("a job that runs at the suspension ends normally", async () => {
  const running = await make.runningJob(acme, { definitionKey: "near" });
  await setStatus(acme, "suspended");
  await settleAttempts(make.worker, [succeeded(running)]);
  expect((await getJob(make.web, acme, running.jobId))?.status).toBe("succeeded");
});

test("workers are notified when a tenant is suspended and when it is active again", async () => {
  const listener = new pg.Client({ connectionString: database.adminUrl });
  await listener.connect();
  const heard: string[] = [];
  listener.on("notification", ({ channel, payload }) => heard.push(`${channel} ${payload}`));
  await listener.query("listen leasehold_pauses; listen leasehold_work");
  await setStatus(acme, "suspended");
  await waitFor(() => heard.includes("leasehold_pauses *"));
  await setStatus(acme, "active");
  await waitFor(() => heard.includes("leasehold_work *"));
  await listener.end();
});

test("the suspension is the wait reason, before any pause", async () => {
  const id = await put(acme);
  await pause(make.platform, SYSTEM, { scope: "all", reason: "maintenance" });
  await setStatus(acme, "suspended");
  const reason = async () => (await getJob(make.web, acme, id))?.wait_reason;
  expect(await reason()).toEqual({ code: "suspended", detail: "The tenant is suspended." });
  await setStatus(acme, "active");
  expect(await reason()).toMatchObject({ code: "paused" });
});

test("a pause of the tenant survives a suspension, and ending the pause does not end the suspension", async () => {
  const id = await put(acme);
  const paused = await pause(make.platform, SYSTEM, { scope: "tenant", tenant: "acme", reason: "unpaid" });
  await setStatus(acme, "suspended");
  expect(await listPauses(make.platform)).toEqual([paused]);
  expect((await listTenantQueues(make.web, acme))[0]?.pause).toMatchObject({ scope: "tenant", reason: "unpaid" });
  await endPause(make.platform, paused.id);
  const [suspension] = await database.query<{ id: string }>("select id from app.pauses");
  await expect(endPause(make.platform, suspension?.id ?? "")).rejects.toMatchObject({ code: "not-found" });
  expect(await claimFromMemory()).toEqual([]);
  await setStatus(acme, "active");
  expect(await claimFromMemory()).toEqual([id]);
});

test("a tenant created as suspended starts no job", async () => {
  const [row] = await database.query<{ id: string }>(
    "insert into app.tenants (slug, name, status) values ('late', 'Late', 'suspended') returning id",
  );
  expect(await database.query("select scope, tenant_id from app.pauses")).toEqual([
    { scope: "suspension", tenant_id: row?.id },
  ]);
});
