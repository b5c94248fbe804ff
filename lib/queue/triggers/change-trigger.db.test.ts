import { describe, expect, test } from "vitest";
import { listen } from "@/lib/db";
import { CHANNELS, deleteTrigger, getJob, getTrigger, runTrigger } from "@/lib/queue/testing";
import { waitFor } from "@/lib/testing/processes";
import { MINUTE, nextMinute, pointers, triggersFixture } from "./triggers.fixture";

const { database, factory, scope, make, change, clock, stored } = await triggersFixture();

describe("a change of a trigger", () => {
  test("SCHED-20 of the cron expression recomputes the next run in the same transaction", async () => {
    const { id, next_run_at: nextRunAt } = await make({ cron_expr: "0 0 1 1 *" });
    expect(Date.parse(nextRunAt ?? "") - (await clock())).toBeGreaterThan(0);
    const changed = await change(id, { cron_expr: "* * * * *" });
    expect(changed.next_run_at).toEqual(nextMinute(await clock()).toISOString());
    expect((await stored(id)).next_run_at).toEqual(new Date(changed.next_run_at ?? ""));
  });

  test("SCHED-15 that disables or deletes it clears the next run at once", async () => {
    const due = async () => {
      await database.moveClock(10 * MINUTE);
      return database.query("select id from app.job_triggers where next_run_at <= app.now() and id = any ($1)", [
        [a.id, b.id],
      ]);
    };
    const [a, b] = [await make(), await make()];
    expect(await due()).toHaveLength(2);
    const off = await change(a.id, { is_enabled: false });
    await deleteTrigger(factory.web, scope, { triggerId: b.id, expected: null });
    expect([await due(), off.next_run_at]).toEqual([[], null]);
    expect(await getTrigger(factory.web, scope, b.id)).toBeNull();
    expect((await stored(b.id)).deleted_at).not.toBeNull();
  });

  test("SCHED-21 that enables it after a month starts at the next instant, without catching up", async () => {
    const { id } = await make();
    await change(id, { is_enabled: false });
    await database.moveClock(30 * 86_400_000);
    const on = await change(id, { is_enabled: true });
    expect(on.next_run_at).toEqual(nextMinute(await clock()).toISOString());
  });

  test("of other fields keeps a due instant", async () => {
    const { id, next_run_at: nextRunAt } = await make();
    await database.moveClock(5 * MINUTE);
    expect((await change(id, { label: "renamed", payload_template: { a: 1 } })).next_run_at).toEqual(nextRunAt);
  });

  test("keeps omitted fields, and null clears a value", async () => {
    const { id } = await make({ priority: 5, max_runs: 3, timezone: "Europe/Berlin" });
    const renamed = await change(id, { label: "other" });
    expect(renamed).toMatchObject({ label: "other", priority: 5, max_runs: 3, timezone: "Europe/Berlin", version: 2 });
    const emptied = await change(id, { priority: null, max_runs: null, timezone: null });
    expect(emptied).toMatchObject({
      priority: null,
      max_runs: null,
      timezone: "UTC",
      cron_expr: "* * * * *",
      version: 3,
    });
  });

  test("to another type of schedule drops the fields of the old one", async () => {
    const { id } = await make();
    const changed = await change(id, { interval_ms: 5 * MINUTE });
    expect(changed).toMatchObject({ schedule_type: "interval", cron_expr: null, interval_ms: 5 * MINUTE });
    const back = await change(id, { schedule_type: "cron", cron_expr: "0 9 * * *" });
    expect(back).toMatchObject({ schedule_type: "cron", interval_ms: null, anchor_at: null });
  });

  test("repairs a broken trigger, unless only the label changes", async () => {
    const { id } = await make();
    await database.query(
      "update app.job_triggers set status = 'broken', status_reason = 'template', next_run_at = null, following_run_at = null where id = $1",
      [id],
    );
    expect(await change(id, { label: "still broken" })).toMatchObject({ status: "broken", next_run_at: null });
    const mended = await change(id, { payload_template: {} });
    expect(mended).toMatchObject({ status: "active", status_reason: null });
    expect(mended.next_run_at).toEqual(nextMinute(await clock()).toISOString());
  });

  test("never returns to an instant that fired while it waited", async () => {
    const { id } = await make();
    // Its next instant is later than the one that fired, so that this test means the same at any second of a minute.
    await database.query(
      `update app.job_triggers set last_run_at = app.now() + interval '2 minutes',
         next_run_at = app.now() + interval '3 minutes', following_run_at = app.now() + interval '4 minutes'
       where id = $1`,
      [id],
    );
    const next = (await change(id, { cron_expr: "*/1 * * * *" })).next_run_at;
    expect(Date.parse(next ?? "")).toBeGreaterThan((await clock()) + 2 * MINUTE - 1000);
  });

  test("of a row with an invalid schedule accepts a new label and refuses other fields", async () => {
    const { id } = await make();
    await database.query("update app.job_triggers set cron_expr = '0 0 30 2 *' where id = $1", [id]);
    expect(await change(id, { label: "odd" })).toMatchObject({ label: "odd", description: null });
    expect(await pointers(change(id, { timezone: "Asia/Tokyo" }))).toEqual(["/cron_expr"]);
  });

  test("by two admins at the same time fails for the later one with a conflict", async () => {
    const { id, version } = await make();
    const both = await Promise.allSettled([
      change(id, { label: "one" }, [version]),
      change(id, { label: "two" }, [version]),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(both.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "version-conflict" } });
    await expect(deleteTrigger(factory.web, scope, { triggerId: id, expected: [version] })).rejects.toMatchObject({
      code: "version-conflict",
    });
  });

  test("keeps existing jobs and is audited", async () => {
    const { id } = await make();
    const { job } = await runTrigger(factory.web, scope, { triggerId: id });
    await change(id, { label: "renamed", cron_expr: "0 * * * *" });
    await deleteTrigger(factory.web, scope, { triggerId: id, expected: null });
    expect((await getJob(factory.web, scope, job.id))?.status).toBe("queued");
    const acts = await database.query(
      "select action, reason, job_id from app.job_audit where trigger_id = $1 order by id",
      [id],
    );
    expect(acts).toEqual([
      { action: "trigger.create", reason: "nightly", job_id: null },
      { action: "trigger.run", reason: null, job_id: job.id },
      { action: "trigger.change", reason: "label, cron_expr", job_id: null },
      { action: "trigger.delete", reason: "renamed", job_id: null },
    ]);
  });

  test("notifies the schedulers after its commit", async () => {
    let heard = 0;
    let ready = false;
    const listener = listen({
      url: database.urlFor("scheduler"),
      channels: [CHANNELS.schedules],
      onNotify: () => void heard++,
      onReady: () => {
        ready = true;
      },
    });
    await waitFor(() => Promise.resolve(ready), { withinMs: 10_000 });
    await make();
    await waitFor(() => Promise.resolve(heard > 0), { withinMs: 10_000 });
    listener.close();
  });
});
