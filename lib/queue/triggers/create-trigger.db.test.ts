import { describe, expect, test } from "vitest";
import { changeTrigger, getTrigger } from "@/lib/queue/testing";
import type { TriggerInput, TriggerPatch } from "@/lib/queue/types";
import { MINUTE, nextMinute, pointers, triggersFixture } from "./triggers.fixture";

const { database, factory, scope, make, clock, stored } = await triggersFixture();

describe("a new trigger", () => {
  test("first fires at the next instant of the database's clock, and knows the following one", async () => {
    await database.moveClock(-400 * 86_400_000);
    const made = await make();
    expect(made.next_run_at).toEqual(nextMinute(await clock()));
    const row = await stored(made.id);
    expect(row.following_run_at).toEqual(new Date(Date.parse(made.next_run_at ?? "") + MINUTE));
    expect(made).toMatchObject({ timezone: "UTC", overlap_policy: "skip", status: "active", version: 1, run_count: 0 });
  });

  test("uses its tenant's zone by default, and keeps it when the tenant's zone changes", async () => {
    await database.query("update app.tenants set timezone = 'Asia/Kathmandu' where id = $1", [scope.tenantId]);
    const made = await make({ cron_expr: "30 8 * * *" });
    await database.query("update app.tenants set timezone = 'UTC' where id = $1", [scope.tenantId]);
    expect(made.timezone).toBe("Asia/Kathmandu");
    expect(made.next_run_at).toMatch(/T02:45:00/);
    expect((await getTrigger(factory.web, scope, made.id))?.timezone).toBe("Asia/Kathmandu");
  });

  test("counts an interval from its anchor, or from its creation", async () => {
    const anchorAt = new Date(Math.floor((await clock()) / MINUTE) * MINUTE - 10 * MINUTE);
    const base = { cron_expr: null, interval_ms: 7 * MINUTE };
    expect((await make({ ...base, anchor_at: anchorAt.toISOString() })).next_run_at).toEqual(
      new Date(anchorAt.getTime() + 14 * MINUTE).toISOString(),
    );
    const unanchored = await make(base);
    expect(Date.parse(unanchored.next_run_at ?? "")).toBe(Date.parse(unanchored.anchor_at ?? "") + 7 * MINUTE);
  });

  test("on an event has no next run and allows overlap", async () => {
    const made = await make({ trigger_type: "event", cron_expr: null, event_name: "provider.folder.updated" });
    expect(made).toMatchObject({ next_run_at: null, timezone: null, overlap_policy: "allow", description: null });
  });

  test.each<[string, Partial<TriggerInput>, string[]]>([
    ["fields of the other kind", { event_name: "a", condition: "true" }, ["/event_name", "/condition"]],
    [
      "a schedule on an event",
      { trigger_type: "event", event_name: "a", timezone: "UTC" },
      ["/cron_expr", "/timezone"],
    ],
    ["an event without a name", { trigger_type: "event", cron_expr: null }, ["/event_name"]],
    ["no schedule", { cron_expr: null }, ["/cron_expr"]],
    ["two schedules", { interval_ms: MINUTE }, ["/interval_ms"]],
    ["once in the past", { cron_expr: null, once_at: new Date(0).toISOString() }, ["/once_at"]],
    [
      "an end before its beginning",
      { cron_expr: "0 0 1 1 *", expires_at: new Date(Date.now() + 1000).toISOString() },
      ["/expires_at"],
    ],
    ["a zone that is none", { timezone: "Mars/Base" }, ["/timezone"]],
    ["a template with a fault", { payload_template: { a: "{{nothing.x}}" } }, ["/payload_template/a"]],
    [
      "a payload that does not fit",
      { definition_key: "strict", payload_template: { n: "x" } },
      ["/payload_template/n"],
    ],
    ["a key that is not active", { definition_key: "gone" }, ["/definition_key"]],
    ["a queue that is not there", { queue: "gone" }, ["/queue"]],
  ])("is refused for %s", async (_what, input, expected) => {
    expect(await pointers(make(input))).toEqual(expected);
  });

  test("with placeholders is not checked against the schema yet", async () => {
    const made = await make({ definition_key: "strict", payload_template: { n: "{{schedule.at}}" } });
    expect(made.payload_template).toEqual({ n: "{{schedule.at}}" });
  });
});

describe("a trigger beyond the tenant's limit", () => {
  const fill = (tenantId: string, count: number, event_name: string | null) =>
    database.query(
      `insert into app.job_triggers (tenant_id, label, trigger_type, definition_id, event_name, schedule_type, interval_ms, anchor_at,
         timezone, overlap_policy, deleted_at)
       select $1, 'x', case when $3::text is null then 'schedule' else 'event' end, d.id, $3::text,
         case when $3::text is null then 'interval' end, case when $3::text is null then 60000 end,
         case when $3::text is null then now() end, case when $3::text is null then 'UTC' end, 'allow',
         case when n > $2 then now() end
       from app.job_definitions d cross join generate_series(1, $2 + 5) n where d.key = 'any'`,
      [tenantId, count, event_name],
    );
  const codes = (making: readonly Promise<unknown>[]) =>
    Promise.all(
      making.map((one) =>
        one.then(
          () => "made",
          (error: { code: string }) => error.code,
        ),
      ),
    );

  test("is refused, also for concurrent requests; deleted triggers do not count", async () => {
    const full = await factory.tenant();
    await fill(full.tenantId, 999, null);
    expect((await codes([make({}, full), make({}, full)])).sort()).toEqual(["made", "too-many-triggers"]);
    expect(await codes([make()])).toEqual(["made"]);
  });

  test("is refused for one event name, on creation and on a change to that name", async () => {
    const full = await factory.tenant();
    await fill(full.tenantId, 199, "busy");
    const on = (event_name: string) => make({ trigger_type: "event", cron_expr: null, event_name }, full);
    const other = await on("quiet");
    const move = () =>
      changeTrigger(factory.web, full, { triggerId: other.id, expected: null, patch: { event_name: "busy" } });
    expect((await codes([on("busy"), move()])).sort()).toEqual(["made", "too-many-triggers"]);
  });

  test("payload templates share 4 MiB, small ones are always accepted; a template can become smaller", async () => {
    const full = await factory.tenant();
    const sized = (kib: number) => ({ payload_template: { text: "x".repeat(kib * 1024) } });
    for (let n = 0; n < 15; n += 1) await make(sized(255), full);
    const last = await make(sized(255), full);
    expect(await codes([make(sized(250), full), make(sized(4), full)])).toEqual(["too-many-triggers", "made"]);
    const change = (kib: number) =>
      changeTrigger(factory.web, full, { triggerId: last.id, expected: null, patch: sized(kib) });
    expect(await codes([change(100)])).toEqual(["made"]);
    expect(await codes([make(sized(150), full)])).toEqual(["made"]);
    expect(await codes([change(200)])).toEqual(["too-many-triggers"]);
  });

  test("conditions with many reads share a budget per event name, others are always accepted; one can become shorter", async () => {
    const full = await factory.tenant();
    const reads = (count: number, eventName = "busy"): Partial<TriggerInput> => ({
      ...{ trigger_type: "event", cron_expr: null, event_name: eventName },
      condition: Array.from({ length: count }, (_, n) => `"${n}" in event.a`).join(" || "),
    });
    for (let n = 0; n < 16; n += 1) await make(reads(14), full);
    const elsewhere = await make(reads(14, "quiet"), full);
    expect(await codes([make(reads(14), full), make(reads(1), full)])).toEqual(["too-many-triggers", "made"]);
    const change = (triggerId: string, patch: TriggerPatch) =>
      changeTrigger(factory.web, full, { triggerId, expected: null, patch });
    expect(await codes([change(elsewhere.id, { event_name: "busy" })])).toEqual(["too-many-triggers"]);
    const last = await make(reads(2), full);
    const longer = change(last.id, { condition: reads(14).condition ?? null });
    expect(await codes([longer])).toEqual(["too-many-triggers"]);
    expect(await codes([change(last.id, { condition: reads(1).condition ?? null })])).toEqual(["made"]);
  });
});
