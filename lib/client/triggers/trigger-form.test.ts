import { describe, expect, test } from "vitest";
import { BLANK_TRIGGER, mergeFields, patchOf, previewBodyOf, triggerBodyOf } from "./trigger-form";

const nightly = { ...BLANK_TRIGGER, label: "Nightly", definition_key: "sync-folder", timezone: "Europe/Berlin" };

describe("the form of a trigger", () => {
  test("sends only what was changed", () => {
    expect(patchOf(nightly, nightly)).toBeNull();
    expect(patchOf(nightly, { ...nightly, cron_expr: "0 3 * * *", payload_template: "{ }" })).toEqual({
      cron_expr: "0 3 * * *",
    });
  });

  test("changing the type of schedule clears the fields of the old type", () => {
    const cron = { ...nightly, dst_gap: "skip" };
    expect(patchOf(cron, { ...cron, schedule_type: "interval", interval_every: "2", interval_unit: "hours" })).toEqual({
      schedule_type: "interval",
      cron_expr: null,
      interval_ms: 7_200_000,
      dst_policy: { gap: null, overlap: null },
    });
  });

  test("an event trigger sends no schedule fields", () => {
    const { body } = triggerBodyOf({ ...nightly, trigger_type: "event", event_name: "user.created" });
    expect(
      Object.keys(body).filter((name) => /cron|interval|anchor|once|timezone|dst|catch|jitter/.test(name)),
    ).toEqual([]);
    expect(previewBodyOf({ ...nightly, trigger_type: "event" })).toBeNull();
  });

  test("reports invalid values by field", () => {
    const { faults } = triggerBodyOf({ ...nightly, label: " ", payload_template: "{", max_runs: "1.5" });
    expect([...faults.keys()].sort()).toEqual(["label", "max_runs", "payload_template"]);
  });

  test("keeps my edits over another user's change, and lists both values", () => {
    const mine = { ...nightly, label: "Mine", priority: "5" };
    const theirs = { ...nightly, label: "Theirs", cron_expr: "0 4 * * *" };
    const { fields, clashes } = mergeFields(nightly, mine, theirs);
    expect(fields).toEqual({ ...nightly, label: "Mine", priority: "5", cron_expr: "0 4 * * *" });
    expect(clashes).toEqual([
      { name: "label", before: "Nightly", theirs: "Theirs", mine: "Mine" },
      { name: "cron_expr", before: "0 2 * * *", theirs: "0 4 * * *", mine: null },
    ]);
  });
});
