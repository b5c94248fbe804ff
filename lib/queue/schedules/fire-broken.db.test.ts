import { afterAll, afterEach, describe, expect, test } from "vitest";
import { getJob, settleAttempts, startAttempts } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { scheduleFixture } from "@/lib/testing/rows/schedules";

const database = await testDatabase();
const { query } = database;
const make = makeFactory(database);
const { clock, trigger, fire, firings, read, jobs } = scheduleFixture(database, make);
afterAll(() => make.close());
afterEach(() => query("update app.job_triggers set next_run_at = null, following_run_at = null"));

const NINE = "2026-03-02T09:00:00Z";
const due = { next_run_at: NINE, following_run_at: "2026-03-02T09:01:00Z" };

describe("a trigger that cannot fire is marked broken with its reason, and the others fire", () => {
  test.each([
    ["CRON-30 a zone that is not known here", { timezone: "Mars/Base" }],
    ["CRON-21 a date that never comes, put there by SQL", { cron_expr: "0 0 30 2 *" }],
    ["an expression that is none", { cron_expr: "what?" }],
  ])("%s: it does not fire again until it is edited", async (_name, columns) => {
    const scope = await make.tenant();
    const [before, bad, after] = [
      await trigger(scope, due),
      await trigger(scope, { ...due, ...columns }),
      await trigger(scope, due),
    ];
    await clock("2026-03-02T09:00:00.010Z");
    const fired = await fire();
    expect(fired).toMatchObject({ jobs: 2, broken: [{ tenantId: scope.tenantId, triggerId: bad }] });
    expect(await firings(bad)).toMatchObject([{ at: NINE, outcome: "failed", reason: "schedule", job_id: null }]);
    const stored = await read(bad);
    expect(stored).toMatchObject({ next: null, runs: 0, status: "broken" });
    expect(stored?.status_reason).toMatch(/^schedule: ./);
    for (const id of [before, after]) expect(await jobs(id)).toHaveLength(1);
  });

  test("an inactive definition or queue, a missing value or an invalid payload break it; the next job makes it active", async () => {
    const scope = await make.tenant();
    const definition = await make.definition();
    const strict = await make.definition({
      arg_schema: {
        type: "object",
        properties: { n: { type: "integer" } },
        required: ["n"],
        additionalProperties: false,
      },
    });
    await query("insert into app.job_queues (name) values ('night')");
    await query("update app.job_queues set is_active = false where name = 'night'");
    const good = await trigger(scope, due);
    const bad = {
      "definition-inactive": await trigger(scope, { ...due, definition_id: definition.id }),
      "queue-unknown": await trigger(scope, { ...due, queue: "night" }),
      template: await trigger(scope, { ...due, payload_template: { a: "{{schedule.nothing}}" } }),
      payload: await trigger(scope, { ...due, definition_id: strict.id, payload_template: { n: "three" } }),
    };
    await query("update app.job_definitions set is_active = false where id = $1", [definition.id]);
    await clock("2026-03-02T09:00:00.010Z");
    const fired = await fire();
    expect([fired.jobs, fired.broken.length]).toEqual([1, 4]);
    expect(await jobs(good)).toHaveLength(1);
    for (const [reason, id] of Object.entries(bad)) {
      const [firing] = await firings(id);
      expect(firing).toMatchObject({ at: NINE, outcome: "failed", reason, job_id: null });
      expect(firing?.detail?.length).toBeGreaterThan(0);
      const stored = await read(id);
      expect(stored).toMatchObject({ next: "2026-03-02T09:01:00Z", runs: 0, status: "broken" });
      expect(stored?.status_reason?.startsWith(`${reason}: `)).toBe(true);
    }
    expect((await firings(bad.payload))[0]?.detail).toContain("/payload/n");

    await query("update app.job_definitions set is_active = true where id = $1", [definition.id]);
    await query("update app.job_queues set is_active = true where name = 'night'");
    await query("update app.job_triggers set payload_template = '{}' where id = $1", [bad.template]);
    await query(`update app.job_triggers set payload_template = '{"n": 3}' where id = $1`, [bad.payload]);
    await clock("2026-03-02T09:01:00.010Z");
    expect(await fire()).toMatchObject({ jobs: 5, broken: [] });
    for (const id of Object.values(bad))
      expect(await read(id)).toMatchObject({ runs: 1, status: "active", status_reason: null });
  });

  test("a broken trigger publishes one event, not one for each instant", async () => {
    const scope = await make.tenant();
    const id = await trigger(scope, { ...due, payload_template: { a: "{{schedule.nothing}}" } });
    await clock("2026-03-02T09:00:00.010Z");
    expect((await fire()).broken).toHaveLength(1);
    await clock("2026-03-02T09:01:00.010Z");
    expect(await fire()).toMatchObject({ triggers: 1, broken: [] });
    const published = await query("select name, data, status from app.events where tenant_id = $1", [scope.tenantId]);
    expect(published).toEqual([
      {
        name: "trigger.broken",
        data: { trigger_id: id, reason: expect.stringContaining("schedule.nothing") },
        status: "pending",
      },
    ]);
  });

  test("a firing that the database refuses breaks its trigger only, and fifty others fire", async () => {
    const scope = await make.tenant();
    const ids: string[] = [];
    for (let n = 0; n < 51; n += 1) ids.push(await trigger(scope, due));
    const bad = ids[17] ?? "";
    await query(`create function public.refuse() returns trigger language plpgsql as
      $$ begin raise exception 'refused on purpose' using errcode = '22023'; end $$`);
    await query(`create trigger refuse before insert on app.trigger_firings for each row
      when (new.trigger_id = '${bad}') execute function public.refuse()`);
    await clock("2026-03-02T09:00:00.010Z");
    const fired = await fire();
    await query("drop trigger refuse on app.trigger_firings");
    expect(fired).toMatchObject({
      triggers: 51,
      jobs: 50,
      broken: [{ triggerId: bad, reason: expect.stringMatching(/^store: /) }],
    });
    expect(await read(bad)).toMatchObject({ next: null, status: "broken" });
    expect(await jobs(bad)).toEqual([]);
  });
});

describe("SCHED-23 the schedules of a suspended or deleted tenant", () => {
  test("create no job during the suspension, record each instant as skipped, and continue with the next one afterwards", async () => {
    const [scope, other] = [await make.tenant(), await make.tenant()];
    const [id, fine] = [await trigger(scope, due), await trigger(other, due)];
    await query("update app.tenants set status = 'suspended' where id = $1", [scope.tenantId]);
    for (const minute of ["00", "01", "02"]) {
      await clock(`2026-03-02T09:${minute}:00.010Z`);
      await fire();
    }
    expect(await jobs(id)).toEqual([]);
    expect(await jobs(fine)).toHaveLength(3);
    expect((await firings(id)).map(({ outcome, reason }) => [outcome, reason])).toEqual(
      Array(3).fill(["skipped", "tenant-suspended"]),
    );
    expect(await read(id)).toMatchObject({ next: "2026-03-02T09:03:00Z", runs: 0, status: "active" });
    await query("update app.tenants set status = 'active' where id = $1", [scope.tenantId]);
    await clock("2026-03-02T09:03:00.010Z");
    await fire();
    expect(await jobs(id)).toHaveLength(1);
  });

  test("are deleted with it, even with a job queued, and other tenants' schedules fire", async () => {
    const [scope, other] = [await make.tenant(), await make.tenant()];
    const [id, fine] = [await trigger(scope, due), await trigger(other, due)];
    await clock("2026-03-02T09:00:00.010Z");
    await fire();
    expect(await jobs(id)).toHaveLength(1);
    await query("delete from app.tenants where id = $1", [scope.tenantId]);
    await clock("2026-03-02T09:01:00.010Z");
    expect(await fire()).toMatchObject({ triggers: 1, jobs: 1, broken: [] });
    expect(await read(id)).toBeUndefined();
    expect(await jobs(fine)).toHaveLength(2);
  });
});

test("a trigger stays active when its creator leaves the tenant or is disabled", async () => {
  const scope = await make.tenant();
  const { id: userId } = await accountsIn(database).user({ roles: { [scope.tenantId]: "member" } });
  const id = await trigger(scope, { ...due, created_by: userId });
  await query("delete from app.memberships where user_id = $1", [userId]);
  await clock("2026-03-02T09:00:00.010Z");
  await fire();
  expect(await jobs(id)).toHaveLength(1);
  await query("update app.users set disabled_at = now() where id = $1", [userId]);
  await clock("2026-03-02T09:01:00.010Z");
  await fire();
  expect(await jobs(id)).toHaveLength(2);
});

describe("when a job of the trigger has not ended", () => {
  async function threeMinutes(policy: string) {
    const scope = await make.tenant();
    const id = await trigger(scope, { ...due, overlap_policy: policy });
    await clock("2026-03-02T09:00:00.010Z");
    await fire();
    const [first] = (await make.claim("w")).filter(({ tenantId }) => tenantId === scope.tenantId);
    if (!first) throw new Error("the first job was not claimed");
    await startAttempts(make.worker, [first]);
    for (const minute of ["01", "02"]) {
      await clock(`2026-03-02T09:${minute}:00.010Z`);
      await fire();
    }
    return { scope, id, first };
  }
  const reasons = async (id: string) => (await firings(id)).map(({ outcome, reason }) => reason ?? outcome);

  test("allow starts another one", async () => {
    const { id } = await threeMinutes("allow");
    expect(await reasons(id)).toEqual(["enqueued", "enqueued", "enqueued"]);
  });

  test("skip skips the instant with a reason until the job ends", async () => {
    const { id, first } = await threeMinutes("skip");
    expect(await reasons(id)).toEqual(["enqueued", "overlap", "overlap"]);
    expect(await read(id)).toMatchObject({ runs: 1, status: "active" });
    await settleAttempts(make.worker, [succeeded(first)]);
    await clock("2026-03-02T09:03:00.010Z");
    await fire();
    expect(await reasons(id)).toEqual(["enqueued", "overlap", "overlap", "enqueued"]);
  });

  test("queue_one lets exactly one job wait for the running one", async () => {
    const { scope, id, first } = await threeMinutes("queue_one");
    expect(await reasons(id)).toEqual(["enqueued", "enqueued", "overlap"]);
    const waiting = (await jobs(id))[1]?.id ?? "";
    expect(await getJob(make.web, scope, waiting)).toMatchObject({ status: "blocked" });
    await settleAttempts(make.worker, [{ ...succeeded(first), status: "failed", outcome: "dead_letter" }]);
    expect(await getJob(make.web, scope, waiting)).toMatchObject({ status: "queued" });
  });
});
