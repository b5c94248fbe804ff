import { afterAll, afterEach, describe, expect, test } from "vitest";
import {
  describeLanes,
  endPause,
  getJob,
  listPauses,
  type PauseInput,
  pause,
  pollWork,
  type TenantScope,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { claimJobs } from "../claim/claim-jobs";
import { listQueues, listTenantQueues } from "../queues/queues";

const database = await testDatabase();
const make = makeFactory(database);
const ACTOR = { kind: "system", id: null, userId: null } as const;
const [acme, globex] = [await make.tenant("acme"), await make.tenant("globex")];
const [report, mail] = [
  await make.definition({ key: "report", queue: "analytics-processing" }),
  await make.definition({ key: "mail", queue: "email-sending" }),
];
afterAll(() => make.close());
afterEach(async () => {
  await database.query("truncate app.pauses");
  await database.query("truncate app.live_jobs");
  await database.moveClock(0);
});

const put = async (scope: TenantScope, definitionKey: string) => (await make.job(scope, { definitionKey })).id;
const poll = async () => (await pollWork(make.worker, { workerId: "w", afterLane: 0, maxLanes: 256 })).lanes;

/** Claims from every lane, like a worker that does not know of any pause. */
async function claimFromMemory(): Promise<string[]> {
  const rows = await database.query<{ lane_no: number }>("select lane_no from app.lanes");
  const lanes = rows.map(({ lane_no }) => ({ laneNo: lane_no, limit: 10, leaseSeconds: 30, limited: false }));
  return (await claimJobs(make.worker, { workerId: "stale", lanes, limit: 100 })).map(({ jobId }) => jobId);
}

describe("a pause", () => {
  const cases: [PauseInput, ("acmeMail" | "acmeReport" | "globexMail")[]][] = [
    [{ scope: "queue", queue: "email-sending", reason: "x" }, ["acmeReport"]],
    [{ scope: "definition", definition_key: "report", reason: "x" }, ["acmeMail", "globexMail"]],
    [{ scope: "tenant", tenant: "acme", reason: "x" }, ["globexMail"]],
    [{ scope: "all", reason: "x" }, []],
  ];
  test.each(cases)("%j stops exactly what it names, in polls and in claims", async (input, free) => {
    const jobs = {
      acmeMail: await put(acme, mail.key),
      acmeReport: await put(acme, report.key),
      globexMail: await put(globex, mail.key),
    };
    const before = await poll();
    await pause(make.platform, ACTOR, input);
    const lanes = await poll();
    expect(lanes).toHaveLength(free.length);
    expect(
      await describeLanes(
        make.worker,
        before.map(({ laneNo }) => laneNo),
      ),
    ).toHaveLength(free.length);
    expect((await claimFromMemory()).sort()).toEqual(free.map((name) => jobs[name]).sort());
  });

  test("ends at its time by the database's clock", async () => {
    const id = await put(acme, mail.key);
    const until = new Date(Date.now() + 60_000);
    await pause(make.platform, ACTOR, { scope: "all", reason: "maintenance", until: until.toISOString() });
    expect(await claimFromMemory()).toEqual([]);
    await database.moveClock(61_000);
    expect(await listPauses(make.platform)).toEqual([]);
    expect(await poll()).toHaveLength(1);
    expect(await claimFromMemory()).toEqual([id]);
  });

  test("can be ended manually once", async () => {
    const id = await put(acme, mail.key);
    const { id: pauseId } = await pause(make.platform, ACTOR, { scope: "tenant", tenant: acme.tenantId, reason: "x" });
    await endPause(make.platform, pauseId);
    expect(await claimFromMemory()).toEqual([id]);
    await expect(endPause(make.platform, pauseId)).rejects.toMatchObject({ code: "not-found" });
  });

  test("set again replaces reason and end, and remains one pause", async () => {
    const first = await pause(make.platform, ACTOR, { scope: "queue", queue: "default", reason: "one" });
    const until = new Date(Date.now() + 3_600_000);
    const second = await pause(make.platform, ACTOR, { scope: "queue", queue: "default", reason: "two", until: until.toISOString() });
    expect(second).toMatchObject({ id: first.id, reason: "two", until: until.toISOString() });
    expect(await listPauses(make.platform)).toEqual([second]);
  });

  test.each([
    [{ scope: "queue", queue: "nowhere" }, "/queue"],
    [{ scope: "definition", definition_key: "nothing" }, "/definition_key"],
    [{ scope: "tenant", tenant: "no-such-tenant" }, "/tenant"],
    [{ scope: "all", until: new Date("2020-01-01").toISOString() }, "/until"],
  ] as const)("%j is refused and stores nothing", async (input, pointer) => {
    await expect(pause(make.platform, ACTOR, { ...input, reason: "x" })).rejects.toMatchObject({
      code: "invalid-value",
      problems: [{ pointer }],
    });
    expect(await database.query("select 1 from app.pauses")).toEqual([]);
  });

  test("is the wait reason of its jobs, with its end", async () => {
    const id = await put(acme, mail.key);
    const until = new Date(Date.now() + 60_000);
    await pause(make.platform, ACTOR, { scope: "queue", queue: "email-sending", reason: "provider is down", until: until.toISOString() });
    expect((await getJob(make.web, acme, id))?.wait_reason).toEqual({
      code: "paused",
      detail: "Its queue is paused: provider is down",
      until,
    });
  });

  test("leaves running jobs alone, and jobs can still be enqueued", async () => {
    const running = await make.runningJob(acme, { definitionKey: mail.key });
    await pause(make.platform, ACTOR, { scope: "all", reason: "x" });
    const rows = await database.query("select state from app.live_jobs where job_id = $1", [running.jobId]);
    expect(rows).toEqual([{ state: "running" }]);
    expect(await put(acme, mail.key)).toBeTruthy();
  });
});

test("a tenant sees its own pauses and those of its queues, not another tenant's", async () => {
  await pause(make.platform, ACTOR, { scope: "tenant", tenant: "globex", reason: "unpaid" });
  await pause(make.platform, ACTOR, { scope: "queue", queue: "billing-sync", reason: "provider is down" });
  const pausesOf = async (scope: TenantScope) =>
    Object.fromEntries((await listTenantQueues(make.web, scope)).map(({ name, pause: held }) => [name, held?.reason]));
  expect(await pausesOf(acme)).toMatchObject({ "billing-sync": "provider is down", default: undefined });
  expect(await pausesOf(globex)).toMatchObject({ "billing-sync": "unpaid", default: "unpaid" });
  const platform = await listQueues(make.platform);
  expect(platform.find(({ name }) => name === "default")?.pause).toBeNull();
});
