import { afterAll, afterEach, describe, expect, test } from "vitest";
import { fireDueSchedules, getJob, msToNextSchedule } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { scheduleFixture } from "@/lib/testing/rows/schedules";

const database = await testDatabase();
const { query } = database;
const make = makeFactory(database);
const { clock, trigger, fire, firings, read, jobs } = scheduleFixture(database, make);
afterAll(() => make.close());
// Schedules that a test leaves due would fire in the next test.
afterEach(() => query("update app.job_triggers set next_run_at = null, following_run_at = null"));

const NINE = "2026-03-02T09:00:00Z";
const ENQUEUED = { outcome: "enqueued", reason: null };

describe("a due schedule", () => {
  test("creates one job for its instant and is next due at the following instant", async () => {
    await clock("2026-03-02T09:00:00.020Z");
    const scope = await make.tenant();
    const id = await trigger(scope, {
      next_run_at: NINE,
      following_run_at: "2026-03-02T09:01:00Z",
      payload_template: { at: "{{schedule.at}}", by: "{{schedule.label}}", n: 3 },
      priority: 7,
    });
    expect(await fire()).toMatchObject({ triggers: 1, jobs: 1, skipped: 0, broken: [] });
    const [firing] = await firings(id);
    expect(firing).toMatchObject({ ...ENQUEUED, at: NINE, n: 1, is_catch_up: false });
    const job = await getJob(make.web, scope, firing?.job_id ?? "");
    expect(job).toMatchObject({
      status: "queued",
      source: "schedule",
      source_ref: id,
      priority: 7,
      dedupe_key: null,
      payload: { at: "2026-03-02T09:00:00.000Z", by: "nightly", n: 3 },
      metadata: { instant: "2026-03-02T09:00:00.000Z" },
      created_by: null,
    });
    expect(await read(id)).toMatchObject({ next: "2026-03-02T09:01:00Z", runs: 1, status: "active" });
    expect(await fire()).toMatchObject({ triggers: 0, jobs: 0 });
  });

  test("creates its job even if another job of the tenant has a similar dedupe key", async () => {
    await clock("2026-03-02T09:00:00.020Z");
    const scope = await make.tenant();
    const id = await trigger(scope, { next_run_at: NINE });
    await make.job(scope, { dedupeKey: `schedule:${id}:2026-03-02T09:00:00.000Z`, dedupe: { mode: "retained" } });
    expect(await fire()).toMatchObject({ jobs: 1 });
    expect(await firings(id)).toMatchObject([ENQUEUED]);
  });

  test("is due by the database's clock alone", async () => {
    await clock("2026-03-02T08:59:58Z");
    const id = await trigger(await make.tenant(), { next_run_at: NINE });
    expect(await fire()).toMatchObject({ triggers: 0 });
    const inMs = (await msToNextSchedule(make.scheduler)) ?? 0;
    expect(inMs).toBeGreaterThan(0);
    expect(inMs).toBeLessThanOrEqual(2000);
    await clock("2026-03-02T09:00:00.001Z");
    expect(await fire()).toMatchObject({ jobs: 1 });
    expect(await jobs(id)).toHaveLength(1);
  });

  test("SCHED-01 after three hours without a scheduler, runs once for the last missed instant, then every minute", async () => {
    const scope = await make.tenant();
    const id = await trigger(scope, { next_run_at: NINE, following_run_at: "2026-03-02T09:01:00Z" });
    await clock("2026-03-02T12:00:30Z");
    await fire();
    const all = await firings(id);
    expect(all).toHaveLength(181);
    expect(all.slice(0, -1).every(({ outcome, reason }) => outcome === "skipped" && reason === "catch_up")).toBe(true);
    expect(all.at(-1)).toMatchObject({ ...ENQUEUED, at: "2026-03-02T12:00:00Z", is_catch_up: true });
    expect((await jobs(id)).map(({ metadata }) => metadata)).toEqual([
      { instant: "2026-03-02T12:00:00.000Z", catch_up: true },
    ]);
    for (const minute of ["01", "02", "03"]) {
      await clock(`2026-03-02T12:${minute}:00.010Z`);
      await fire();
    }
    expect((await jobs(id)).length).toBe(4);
    expect(await read(id)).toMatchObject({ next: "2026-03-02T12:04:00Z", runs: 4, status: "active" });
  });

  test("SCHED-01 catches up according to its policy, and records each skipped instant", async () => {
    const scope = await make.tenant();
    const due = { cron_expr: "*/10 * * * *", next_run_at: NINE, following_run_at: "2026-03-02T09:10:00Z" };
    const none = await trigger(scope, { ...due, catch_up: "skip" });
    const some = await trigger(scope, { ...due, catch_up: "all", catch_up_limit: 5, overlap_policy: "skip" });
    await clock("2026-03-02T12:05:00Z");
    await fire();
    expect(await jobs(none)).toHaveLength(0);
    expect((await firings(none)).map(({ reason }) => reason)).toEqual(Array(19).fill("catch_up"));
    const made = await jobs(some);
    expect(made).toHaveLength(5);
    // The starts are spread out.
    expect(new Set(made.map(({ scheduled_for }) => scheduled_for.getTime())).size).toBe(5);
    expect((await firings(some)).filter(({ outcome }) => outcome === "skipped")).toHaveLength(14);
    await clock("2026-03-02T12:10:00.010Z");
    await fire();
    expect(await jobs(none)).toHaveLength(1);
  });

  test("a trigger catches up with at most 1 MiB of payloads and skips older instants with a reason", async () => {
    const scope = await make.tenant();
    const large = { a: "x".repeat(200_000) };
    const due = { next_run_at: NINE, following_run_at: "2026-03-02T09:01:00Z", catch_up: "all", catch_up_limit: 1000 };
    const id = await trigger(scope, { ...due, payload_template: large });
    const small = await trigger(scope, { ...due, payload_template: { a: 1 } });
    await clock("2026-03-02T12:00:30Z");
    await fire();
    await fire();
    // One instant is on time, in addition to the missed ones.
    expect(await jobs(id)).toHaveLength(1 + Math.ceil((1024 * 1024) / 200_008));
    expect(await jobs(small)).toHaveLength(181);
    const skipped = (await firings(id)).filter(({ outcome }) => outcome === "skipped");
    expect(skipped.map(({ reason }) => reason)).toEqual(Array(181 - (await jobs(id)).length).fill("catch_up"));
  });

  test("a turn reads schedules with half a MiB of templates, and the next turn the others", async () => {
    const scope = await make.tenant();
    await clock("2026-03-02T09:00:00.020Z");
    const ids: string[] = [];
    for (let n = 0; n < 7; n += 1)
      ids.push(await trigger(scope, { next_run_at: NINE, payload_template: { a: "x".repeat(200_000) } }));
    expect([await fire(), await fire(), await fire()].map(({ triggers }) => triggers)).toEqual([3, 3, 1]);
    for (const id of ids) expect(await jobs(id)).toHaveLength(1);
  });

  test("SCHED-03 an instant of 45 minutes ago runs, whatever the leader's heartbeat is", async () => {
    const scope = await make.tenant();
    const weekly = { cron_expr: "0 6 * * 1", next_run_at: "2026-03-02T06:00:00Z" };
    const first = await trigger(scope, weekly);
    await clock("2026-03-02T06:45:00Z");
    await query("update app.leader set last_seen_at = app.now() + interval '1 hour'");
    await fire();
    const second = await trigger(scope, weekly);
    await query("update app.leader set last_seen_at = app.now() - interval '1 year'");
    await fire();
    for (const id of [first, second]) {
      expect(await firings(id)).toMatchObject([{ ...ENQUEUED, at: "2026-03-02T06:00:00Z", is_catch_up: true }]);
      expect(await read(id)).toMatchObject({ next: "2026-03-09T06:00:00Z" });
    }
    await query("update app.leader set last_seen_at = null");
  });

  test("SCHED-05 a turn that dies before its commit leaves nothing, and one that committed is not repeated", async () => {
    const scope = await make.tenant();
    const id = await trigger(scope, { cron_expr: "0 9 * * *", next_run_at: NINE });
    await clock("2026-03-02T09:00:01Z");
    const dying = make.scheduler.transaction(async (tx) => {
      await fireDueSchedules(tx, { limit: 10 });
      throw new Error("killed on purpose");
    });
    await expect(dying).rejects.toThrow("killed on purpose");
    expect([await firings(id), await jobs(id)]).toEqual([[], []]);
    await clock("2026-03-02T12:00:00Z");
    await fire();
    await fire();
    expect(await jobs(id)).toHaveLength(1);
    expect(await firings(id)).toMatchObject([{ ...ENQUEUED, at: NINE, is_catch_up: true }]);
  });

  test("SCHED-08 eight triggers of two tenants with the same schedule create eight jobs", async () => {
    const [a, b] = [await make.tenant(), await make.tenant()];
    const due = { cron_expr: "0 9 * * *", next_run_at: NINE };
    const own = await make.definition();
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.push(await trigger(a, due));
    for (let n = 0; n < 2; n += 1) ids.push(await trigger(a, { ...due, definition_id: own.id }));
    for (let n = 0; n < 3; n += 1) ids.push(await trigger(b, due));
    await clock("2026-03-02T09:00:01Z");
    expect(await fire()).toMatchObject({ triggers: 8, jobs: 8 });
    const made = (await Promise.all(ids.map((id) => jobs(id)))).map((all) => all.map(({ tenant_id }) => tenant_id));
    expect(made).toEqual([...Array(5).fill([a.tenantId]), ...Array(3).fill([b.tenantId])]);
  });

  test("SCHED-13 an instant does not fire again when the clock goes back or next_run_at is set back", async () => {
    const id = await trigger(await make.tenant(), { next_run_at: NINE, following_run_at: "2026-03-02T09:01:00Z" });
    await clock("2026-03-02T09:00:00.500Z");
    await fire();
    await query("update app.job_triggers set next_run_at = $2, following_run_at = null where id = $1", [id, NINE]);
    await clock("2026-03-02T09:00:00.100Z");
    expect(await fire()).toMatchObject({ triggers: 1, jobs: 0 });
    expect(await jobs(id)).toHaveLength(1);
    expect(await read(id)).toMatchObject({ next: "2026-03-02T09:01:00Z", runs: 1 });
  });

  test("SCHED-10 even two leaders at once create one job for each instant", async () => {
    const scope = await make.tenant();
    const ids: string[] = [];
    for (let n = 0; n < 40; n += 1) ids.push(await trigger(scope, { next_run_at: NINE }));
    await clock("2026-03-02T09:00:01Z");
    await Promise.all(Array.from({ length: 6 }, () => fire(25)));
    for (const id of ids) expect(await jobs(id)).toHaveLength(1);
  });

  test("SCHED-18 a schedule due next year does not fire early, and the time until it is exact", async () => {
    await clock("2026-02-10T00:00:00Z");
    const id = await trigger(await make.tenant(), { cron_expr: "0 0 1 1 *", next_run_at: "2027-01-01T00:00:00Z" });
    expect(await fire()).toMatchObject({ triggers: 0 });
    expect(await msToNextSchedule(make.scheduler)).toBeGreaterThan(2 ** 31);
    expect(await jobs(id)).toEqual([]);
  });
});

describe("how often a schedule runs", () => {
  test("ends with its last run, with the reason", async () => {
    const scope = await make.tenant();
    const due = { next_run_at: NINE, following_run_at: "2026-03-02T09:01:00Z" };
    const twice = await trigger(scope, { ...due, max_runs: 2 });
    const until = await trigger(scope, { ...due, expires_at: "2026-03-02T09:01:30Z" });
    for (const minute of ["00", "01", "02"]) {
      await clock(`2026-03-02T09:${minute}:00.010Z`);
      await fire();
    }
    for (const id of [twice, until]) {
      expect(await jobs(id)).toHaveLength(2);
      expect(await read(id)).toMatchObject({ next: null, following: null, runs: 2, status: "finished" });
    }
    expect((await read(twice))?.status_reason).toBe("max_runs");
    expect((await read(until))?.status_reason).toBe("expired");
  });

  test("a schedule of type once fires once", async () => {
    const id = await trigger(await make.tenant(), { schedule_type: "once", once_at: NINE, next_run_at: NINE });
    await clock("2026-03-02T09:00:01Z");
    await fire();
    expect(await read(id)).toMatchObject({ next: null, runs: 1, status: "finished" });
  });

  test("max_runs counts jobs: an instant without a job is not a run", async () => {
    const definition = await make.definition();
    const id = await trigger(await make.tenant(), { definition_id: definition.id, max_runs: 1, next_run_at: NINE });
    await query("update app.job_definitions set is_active = false where id = $1", [definition.id]);
    await clock("2026-03-02T09:00:01Z");
    await fire();
    expect(await read(id)).toMatchObject({ next: "2026-03-02T09:01:00Z", runs: 0, status: "broken" });
    await query("update app.job_definitions set is_active = true where id = $1", [definition.id]);
    await clock("2026-03-02T09:01:01Z");
    await fire();
    expect(await read(id)).toMatchObject({ next: null, runs: 1, status: "finished" });
  });
});

test("CRON-01 a firing moved by a clock change has a note, and a skipped local time has a firing", async () => {
  const scope = await make.tenant();
  const nightly = { cron_expr: "30 2 * * *", timezone: "America/New_York", updated_at: "2026-03-01T00:00:00Z" };
  const moved = await trigger(scope, { ...nightly, next_run_at: "2026-03-08T07:00:00Z" });
  const skips = await trigger(scope, { ...nightly, dst_gap: "skip", next_run_at: "2026-03-09T06:30:00Z" });
  const notes = (id: string) =>
    query("select outcome, reason, note from app.trigger_firings where trigger_id = $1 order by fire_at", [id]);
  const gone = "02:30 does not exist on 2026-03-08: clocks go forward";
  await clock("2026-03-08T07:00:01Z");
  await fire();
  expect(await notes(moved)).toEqual([{ ...ENQUEUED, note: `${gone}, so it runs right after` }]);
  await clock("2026-03-09T06:30:01Z");
  await fire();
  expect(await notes(skips)).toEqual([
    { outcome: "skipped", reason: "dst_gap", note: `${gone}, so this run is skipped` },
    { ...ENQUEUED, note: null },
  ]);
  expect(await notes(moved)).toHaveLength(2);
});
