import { afterAll, describe, expect, test } from "vitest";
import { withTenant } from "@/lib/db";
import {
  cancelJob,
  enqueueJobs,
  retryJob,
  settleAttempts,
  sweepDependents,
  workOffReleases,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { dead, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeLinkedJobs } from "@/lib/testing/rows/linked-jobs";

const database = await testDatabase();
const { make, scope, definitionKey, statusOf, claimAll } = await makeLinkedJobs(database);
afterAll(() => make.close());

/** More children than one call releases. */
const MANY = 2500;

/** Makes a running job with this many children. */
async function fan(count: number) {
  const parent = await make.runningJob(scope);
  const dependsOn = [{ jobId: parent.jobId }];
  const children = await enqueueJobs(
    make.web,
    scope,
    Array.from({ length: count }, () => ({ definitionKey, dependsOn })),
  );
  return { parent, ids: children.map(({ jobId }) => jobId) };
}

/** Counts the jobs by status. */
async function standing(ids: readonly string[]): Promise<Record<string, number>> {
  const rows = await database.query<{ status: string; n: number }>(
    `select coalesce(l.state, a.outcome) as status, count(*)::int as n from unnest($1::uuid[]) x (id)
     left join app.live_jobs l on l.job_id = x.id
     left join app.job_attempts a on a.job_id = x.id and a.outcome is not null and not a.superseded group by 1`,
    [ids],
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

const backlog = async () =>
  (await database.query<{ n: number }>("select count(*)::int as n from app.release_backlog"))[0]?.n;

/** Processes the backlog and returns how many children it handled. */
async function workOff(): Promise<number> {
  let all = 0;
  for (let handled = 1; handled > 0; all += handled)
    ({ handled } = await workOffReleases(make.scheduler, { limit: 1000 }));
  return all;
}

describe("A-04 more children than one call releases", () => {
  test("are partly released with the end of their parent, then from the backlog, and the sweep finds nothing", async () => {
    const { parent, ids } = await fan(MANY);
    await settleAttempts(make.worker, [succeeded(parent)]);
    const first = await standing(ids);
    expect(first.queued).toBeGreaterThan(0);
    expect(first.blocked).toBeGreaterThan(0);
    expect(await sweepDependents(make.scheduler, { limit: 1000 })).toMatchObject({ healed: 0 });
    expect(await workOff()).toBe(first.blocked);
    expect(await standing(ids)).toEqual({ queued: MANY });
    expect(await backlog()).toBe(0);
    for (let left = MANY; left > 0; left -= 1000) await claimAll();
  });

  test("count by the placeholders of their payloads: a few large ones at once, the rest from the backlog", async () => {
    const parent = await make.runningJob(scope);
    const dependsOn = [{ jobId: parent.jobId, type: "data", as: "p" }] as const;
    const payload = { a: Array(900).fill("{{parents.p.result}}") };
    const enqueued = await enqueueJobs(
      make.web,
      scope,
      Array.from({ length: 60 }, () => ({ definitionKey, dependsOn, payload })),
    );
    const ids = enqueued.map(({ jobId }) => jobId);
    await settleAttempts(make.worker, [succeeded(parent, 7)]);
    const first = await standing(ids);
    expect(first.queued).toBeGreaterThan(0);
    expect(first.queued).toBeLessThan(30);
    expect((await workOffReleases(make.scheduler, { limit: 1000 })).handled).toBeLessThan(30);
    await workOff();
    expect(await standing(ids)).toEqual({ queued: 60 });
    const filled = `select count(*)::int as n from app.jobs where id = any ($1) and payload = jsonb_build_object('a', to_jsonb(array_fill(7, array[900])))`;
    expect(await database.query(filled, [ids])).toEqual([{ n: 60 }]);
    expect(await backlog()).toBe(0);
    await claimAll();
  });

  test("a cascade that reaches the limit continues from the backlog through all levels", async () => {
    const { parent, ids } = await fan(MANY);
    const below = await enqueueJobs(
      make.web,
      scope,
      [0, 1, MANY - 1].map((place) => ({ definitionKey, dependsOn: [{ jobId: String(ids[place]) }] })),
    );
    const all = [...ids, ...below.map(({ jobId }) => jobId)];
    await settleAttempts(make.worker, [dead(parent)]);
    expect((await standing(all)).blocked).toBeGreaterThan(0);
    await workOff();
    expect(await standing(all)).toEqual({ canceled: MANY + 3 });
    expect(await backlog()).toBe(0);
  });

  test("the rest waits for the parent's next run when the parent is retried before all are released", async () => {
    const { parent, ids } = await fan(MANY);
    await settleAttempts(make.worker, [dead(parent)]);
    const { blocked, canceled } = await standing(ids);
    await retryJob(make.web, scope, { jobId: parent.jobId });
    expect(await workOff()).toBe(0);
    expect(await standing(ids)).toEqual({ blocked, canceled });
    const [again] = await claimAll();
    if (again?.jobId !== parent.jobId) throw new Error("not claimed");
    await settleAttempts(make.worker, [succeeded(again)]);
    await workOff();
    expect(await standing(ids)).toEqual({ queued: blocked, canceled });
    expect(await backlog()).toBe(0);
    await claimAll();
  });

  test("children that ended meanwhile do not stop the backlog", async () => {
    const { parent, ids } = await fan(2);
    await database.query(
      `insert into app.release_backlog (tenant_id, parent_id, from_child, to_child) values ($1, $2, $3, $3), ($1, $2, $3, $4)`,
      [scope.tenantId, parent.jobId, ids[0], ids[1]],
    );
    await cancelJob(make.web, scope, String(ids[0]));
    expect(await workOff()).toBe(0);
    expect(await backlog()).toBe(0);
    await settleAttempts(make.worker, [succeeded(parent)]);
    expect(await Promise.all(ids.map(statusOf))).toEqual(["canceled", "queued"]);
    await claimAll();
  });
});

/**
 * Makes a running job and a chain below it, in which each job waits for the one before. Every third job fails with its
 * parent; the others are canceled.
 */
async function chain(count: number) {
  const parent = await make.runningJob(scope);
  const ids = [parent.jobId];
  for (let from = 0; from < count; from += 1000) {
    const batch = Array.from({ length: Math.min(1000, count - from) }, (_, place) => ({
      definitionKey,
      ref: `n${place}`,
      dependsOn: [place === 0 ? { jobId: String(ids.at(-1)) } : { ref: `n${place - 1}` }],
      onParentFailure: place % 3 === 0 ? ("fail" as const) : ("cancel" as const),
    }));
    ids.push(...(await enqueueJobs(make.web, scope, batch)).map(({ jobId }) => jobId));
  }
  return { parent, ids: ids.slice(1) };
}

describe("A-04 a chain that fails", () => {
  test("one call ends a bounded number of levels, and the backlog ends the others according to their settings", async () => {
    const { parent, ids } = await chain(2300);
    const [middle, last] = [String(ids[1000]), String(ids.at(-1))];
    const below = await enqueueJobs(make.web, scope, [
      { definitionKey, dependsOn: [{ jobId: last, type: "completion" }] },
      { definitionKey, dependsOn: [{ jobId: middle }, { jobId: last }], onParentFailure: "run" },
      { definitionKey, dependsOn: [{ jobId: middle }, { jobId: last, type: "completion" }] },
    ]);
    await settleAttempts(make.worker, [dead(parent)]);
    expect((await standing(ids)).blocked).toBeLessThan(400);
    await workOff();
    expect(await standing(ids)).toEqual({ failed: 768, canceled: 1532 });
    expect(await Promise.all(below.map(({ jobId }) => statusOf(jobId)))).toEqual(["queued", "queued", "canceled"]);
    expect(await backlog()).toBe(0);
    expect(await sweepDependents(make.scheduler, { limit: 1000 })).toMatchObject({ healed: 0 });
    await claimAll();
  });

  test("a locked job delays the cascade at that job only", async () => {
    const { parent, ids } = await chain(30);
    const free = openGate();
    const holding = withTenant(make.web, scope.tenantId, async (tx) => {
      await enqueueJobs(tx, scope, [{ definitionKey, dependsOn: [{ jobId: String(ids[10]) }] }]);
      free.reached();
      await free.opened;
    });
    await free.isReached;
    await settleAttempts(make.worker, [dead(parent)]);
    expect(await standing(ids)).toMatchObject({ blocked: 20 });
    free.open();
    await holding;
    await workOff();
    expect((await standing(ids)).blocked).toBeUndefined();
    expect(await database.query("select job_id from app.live_jobs where state = 'blocked'")).toEqual([]);
  });
});

/** Makes a gate: one caller reaches it and waits until the other opens it. */
function openGate() {
  let [reached, open] = [() => {}, () => {}];
  const isReached = new Promise<void>((resolve) => (reached = resolve));
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { isReached, opened, reached: () => reached(), open: () => open() };
}
