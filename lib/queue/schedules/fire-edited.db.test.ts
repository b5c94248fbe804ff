import { afterAll, afterEach, describe, expect, test } from "vitest";
import { withTenant } from "@/lib/db";
import {
  changeTrigger,
  createTrigger,
  deleteTrigger,
  fireDueSchedules,
  previewTrigger,
  type TenantScope,
} from "@/lib/queue/testing";
import type { TriggerInput, TriggerPatch } from "@/lib/queue/types";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { makeFactory } from "@/lib/testing/rows/factories";
import { scheduleFixture } from "@/lib/testing/rows/schedules";

const database = await testDatabase();
const { query } = database;
const make = makeFactory(database);
const { clock, trigger, fire, firings, read, jobs } = scheduleFixture(database, make);
const scope = await make.tenant();
const { key: definitionKey } = await make.definition();
afterAll(() => make.close());
afterEach(() => query("update app.job_triggers set next_run_at = null, following_run_at = null"));

const create = (input: Partial<TriggerInput>, as: TenantScope = scope) =>
  createTrigger(make.web, as, {
    label: "nightly",
    trigger_type: "schedule",
    definition_key: definitionKey,
    overlap_policy: "allow",
    ...input,
  });
const change = (triggerId: string, patch: TriggerPatch) =>
  changeTrigger(make.web, scope, { triggerId, expected: null, patch });

describe("a schedule that is edited", () => {
  test("SCHED-15 creates no job after it is disabled or deleted, and its earlier jobs stay", async () => {
    await clock("2026-03-02T08:59:30Z");
    const [off, gone] = [await create({ cron_expr: "* * * * *" }), await create({ cron_expr: "* * * * *" })];
    await clock("2026-03-02T09:00:00.010Z");
    await fire();
    await change(off.id, { is_enabled: false });
    await deleteTrigger(make.web, scope, { triggerId: gone.id, expected: null });
    for (const minute of ["01", "02", "30"]) {
      await clock(`2026-03-02T09:${minute}:00.010Z`);
      await fire();
    }
    for (const { id } of [off, gone]) {
      expect(await jobs(id)).toHaveLength(1);
      expect(await firings(id)).toHaveLength(1);
    }
    expect(
      await query("select 1 from app.live_jobs l join app.jobs j on j.id = l.job_id where j.source_ref = $1", [
        gone.id,
      ]),
    ).toHaveLength(1);
  });

  test("SCHED-15 SCHED-16 an edit that waited for a turn finds the instant fired; a turn that waited for an edit fires the new schedule", async () => {
    await clock("2026-03-02T08:59:30Z");
    const { id } = await create({ cron_expr: "* * * * *", payload_template: { v: 1 } });
    await clock("2026-03-02T09:00:00.010Z");
    let edited: Promise<unknown> = Promise.resolve();
    await make.scheduler.transaction(async (tx) => {
      await fireDueSchedules(tx, { limit: 10 });
      edited = change(id, { payload_template: { v: 2 }, cron_expr: "*/1 * * * *" });
      await waitFor(
        async () =>
          (
            await query(
              "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
            )
          ).length > 0,
        { what: "the edit that waits" },
      );
    });
    await edited;
    await fire();
    expect((await jobs(id)).map(({ payload }) => payload)).toEqual([{ v: 1 }]);
    expect(await read(id)).toMatchObject({ next: "2026-03-02T09:01:00Z" });
    await clock("2026-03-02T09:01:00.010Z");
    // While an edit is in progress, the turn leaves this trigger for the next turn and does not wait.
    await withTenant(make.web, scope.tenantId, async (tx) => {
      await changeTrigger(tx, scope, { triggerId: id, expected: null, patch: { payload_template: { v: 3 } } });
      expect(await fire()).toMatchObject({ triggers: 0 });
    });
    await fire();
    expect((await jobs(id)).map(({ payload }) => payload)).toEqual([{ v: 1 }, { v: 3 }]);
  });

  test("SCHED-20 fires in the next minute after a change from yearly to every minute", async () => {
    await clock("2026-03-02T08:59:30Z");
    const { id } = await create({ cron_expr: "0 0 1 1 *" });
    expect(await read(id)).toMatchObject({ next: "2027-01-01T00:00:00Z" });
    await change(id, { cron_expr: "* * * * *" });
    await clock("2026-03-02T09:00:00.010Z");
    expect(await fire()).toMatchObject({ jobs: 1 });
    expect(await firings(id)).toMatchObject([{ at: "2026-03-02T09:00:00Z", outcome: "enqueued" }]);
  });

  test("SCHED-21 enabled after thirty days, it fires at the next instant and catches up on none", async () => {
    await clock("2026-03-02T09:00:30Z");
    const { id } = await create({ cron_expr: "* * * * *", catch_up: "all", catch_up_limit: 100 });
    await change(id, { is_enabled: false });
    await clock("2026-04-01T09:00:30Z");
    expect(await fire()).toMatchObject({ triggers: 0 });
    await change(id, { is_enabled: true });
    expect(await fire()).toMatchObject({ triggers: 0 });
    await clock("2026-04-01T09:01:00.010Z");
    expect(await fire()).toMatchObject({ jobs: 1, skipped: 0 });
    expect(await firings(id)).toMatchObject([{ at: "2026-04-01T09:01:00Z", is_catch_up: false }]);
  });

  test("is active again and fires when its error is corrected", async () => {
    await clock("2026-03-02T09:00:00.010Z");
    const id = await trigger(scope, { timezone: "Mars/Base", next_run_at: "2026-03-02T09:00:00Z" });
    await fire();
    expect(await read(id)).toMatchObject({ status: "broken", next: null });
    await change(id, { timezone: "Europe/Berlin" });
    expect(await read(id)).toMatchObject({ status: "active", status_reason: null });
    await clock("2026-03-02T09:01:00.010Z");
    expect(await fire()).toMatchObject({ jobs: 1 });
  });
});

describe("an instant that is due during an edit fires, or has a firing with the reason why not", () => {
  const edits: [string, TriggerPatch, string | null][] = [
    ["another schedule that names it too", { cron_expr: "*/10 * * * *" }, "2026-03-02T09:10:00Z"],
    ["another schedule that does not name it", { cron_expr: "7 * * * *" }, "2026-03-02T09:07:00Z"],
    ["another type", { schedule_type: "interval", interval_ms: 3_600_000 }, null],
    ["another zone", { timezone: "Asia/Kathmandu" }, "2026-03-02T09:01:00Z"],
    ["an end", { expires_at: "2026-03-03T00:00:00Z" }, "2026-03-02T09:01:00Z"],
    ["a number of runs", { max_runs: 5 }, "2026-03-02T09:01:00Z"],
    ["the switch", { is_enabled: false }, null],
  ];
  test.each(edits)("%s", async (_, patch, next) => {
    await clock("2026-03-02T08:59:30Z");
    const { id } = await create({
      cron_expr: "* * * * *",
      catch_up: "all",
      catch_up_limit: 5,
      payload_template: { v: 1 },
    });
    await clock("2026-03-02T09:00:20Z");
    await change(id, { ...patch, payload_template: { v: 2 } });
    if (patch.is_enabled === false) await change(id, { is_enabled: true });
    await fire();
    expect(await firings(id)).toMatchObject([{ at: "2026-03-02T09:00:00Z", outcome: "enqueued" }]);
    expect((await jobs(id)).map(({ payload }) => payload)).toEqual([{ v: 1 }]);
    if (next !== null) expect(await read(id)).toMatchObject({ next });
  });

  test("missed instants follow the trigger's policy, and each has a firing", async () => {
    await clock("2026-03-02T08:59:30Z");
    const { id } = await create({ cron_expr: "* * * * *", catch_up: "skip" });
    await clock("2026-03-02T09:03:20Z");
    await change(id, { max_runs: 100 });
    expect((await firings(id)).map(({ at, outcome }) => [at.slice(11, 16), outcome]).sort()).toEqual([
      ["09:00", "skipped"],
      ["09:01", "skipped"],
      ["09:02", "skipped"],
      ["09:03", "enqueued"],
    ]);
  });

  test("a due run counts before max_runs is compared, and the last run ends the trigger", async () => {
    await clock("2026-03-02T08:59:30Z");
    const { id } = await create({ cron_expr: "* * * * *" });
    await clock("2026-03-02T09:00:20Z");
    await expect(change(id, { max_runs: 1 })).rejects.toMatchObject({ problems: [{ pointer: "/max_runs" }] });
    await fire();
    expect(await firings(id)).toMatchObject([{ at: "2026-03-02T09:00:00Z", outcome: "enqueued" }]);
  });
});

describe("over a day", () => {
  test("SCHED-06 each of fifty noons fires once while schedulers are replaced right before and after", async () => {
    const id = await trigger(scope, { cron_expr: "0 12 * * *", next_run_at: "2026-03-02T12:00:00Z" });
    for (let day = 0; day < 50; day += 1) {
      const noon = Date.parse("2026-03-02T12:00:00Z") + day * 86_400_000;
      await clock(new Date(noon - 100).toISOString());
      await fire();
      await clock(new Date(noon + 400).toISOString());
      await fire();
    }
    const all = await firings(id);
    expect(all.map(({ at }) => at.slice(10))).toEqual(Array(50).fill("T12:00:00Z"));
    expect(new Set((await jobs(id)).map(({ metadata }) => JSON.stringify(metadata))).size).toBe(50);
  });

  test("CRON-01 CRON-05 the preview equals the firings over both clock changes", async () => {
    for (const [zone, from] of [
      ["America/New_York", "2026-03-08T05:30:00Z"],
      ["Europe/Berlin", "2026-10-24T23:30:00Z"],
    ] as const) {
      await clock(from);
      const made = await Promise.all(
        ["30 2 * * *", "0 * * * *", "*/30 2 * * *"].map((cronExpr) => create({ cron_expr: cronExpr, timezone: zone })),
      );
      const told = await Promise.all(
        made.map(async ({ cron_expr }) => {
          const schedule = { cron_expr: cron_expr ?? "", timezone: zone };
          const input = { schedule, count: 10, after: from };
          const { occurrences } = await previewTrigger(make.web, scope, input);
          const end = Date.parse(from) + 6 * 3_600_000;
          return occurrences.map(({ at }) => Date.parse(at)).filter((at) => at <= end);
        }),
      );
      for (let step = 1; step <= 24; step += 1) {
        await clock(new Date(Date.parse(from) + step * 15 * 60_000 + 20).toISOString());
        await fire();
      }
      const fired = await Promise.all(made.map(async ({ id }) => (await firings(id)).map(({ at }) => Date.parse(at))));
      expect(fired).toEqual(told);
      for (const { id } of made) await deleteTrigger(make.web, scope, { triggerId: id, expected: null });
    }
  });
});
