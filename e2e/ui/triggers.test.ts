import { describe, expect, test } from "vitest";
import type { FiringList, Trigger, TriggerList } from "@/lib/contract";
import { waitFor } from "@/lib/testing/processes";
import { openStage } from "./stage";

const stage = await openStage();
const key = stage.keys.acme;
const TRIGGERS = "/t/acme/jobs/triggers";

const read = (id: string) => stage.api<Trigger>("GET", `/jobs/triggers/${id}`, { key });
const firings = (id: string) => stage.api<FiringList>("GET", `/jobs/triggers/${id}/firings`, { key });
const make = (body: Record<string, unknown>) =>
  stage.api<Trigger>("POST", "/jobs/triggers", {
    key,
    body: {
      trigger_type: "schedule",
      definition_key: "speak",
      cron_expr: "0 2 1 1 *",
      payload_template: { lines: ["{{schedule.at}}"] },
      ...body,
    },
  });

describe("the pages of triggers", () => {
  test("a schedule is created with a preview of its next runs, and errors are shown at their field", async () => {
    const { page, context } = await stage.signIn(stage.people.admin, { at: TRIGGERS });
    await page.getByText("No triggers yet").waitFor();
    await page.getByRole("link", { name: /^Every night/ }).click();
    const ahead = page.getByRole("region", { name: "Preview" });
    await page.getByLabel("Time zone").fill("Europe/Berlin");
    await ahead.getByText("At 02:00 every day (Europe/Berlin)").waitFor();
    await page.getByLabel("Cron expression").fill("30 2 29 3 *");
    await ahead.getByText("29 Mar", { exact: false }).first().waitFor();
    await page.getByLabel("Cron expression").fill("0 0 31 2 *");
    await page.locator('[name="cron_expr"][aria-invalid=true]').waitFor();
    await page.getByLabel("Cron expression").fill("30 2 * * *");
    await page.getByLabel("Definition").selectOption("speak");
    await page.getByLabel("Payload", { exact: true }).fill('{"lines": ["{{schedule.when}}"]}');
    await page.getByRole("button", { name: "Create trigger" }).click();
    await page.locator('[name="payload_template"][aria-invalid=true]').waitFor();
    await page.getByText("/lines/0", { exact: false }).first().waitFor();
    await page.getByLabel("Payload", { exact: true }).fill('{"lines": ["{{schedule.at}}"]}');
    await page.getByRole("button", { name: "Create trigger" }).click();
    await page.getByRole("heading", { name: "Every night", level: 1 }).waitFor();
    const { data } = await stage.api<TriggerList>("GET", "/jobs/triggers", { key });
    expect(data).toMatchObject([{ label: "Every night", cron_expr: "30 2 * * *", timezone: "Europe/Berlin" }]);
    await context.close();
  });

  test("the edit form opens at once from a trigger's page", async () => {
    const { id } = await make({ label: "Just read" });
    const { page, context } = await stage.signIn(stage.people.admin, { at: TRIGGERS });
    for (const [button, label] of [
      ["Edit", "Just read"],
      ["Duplicate", "Copy of Just read"],
    ] as const) {
      await page.goto(`${TRIGGERS}/${id}`);
      await page.getByRole("button", { name: button }).click();
      const field = page.locator('[name="label"]');
      await field.waitFor();
      expect(await field.inputValue()).toBe(label);
    }
    await context.close();
  });

  test("an edit that conflicts with another person's change shows both and keeps mine", async () => {
    const { id, version } = await make({ label: "Yearly" });
    const { page, context } = await stage.signIn(stage.people.admin, { at: `${TRIGGERS}/${id}/edit` });
    await page.locator('[name="label"]').fill("Mine");
    await stage.api("PATCH", `/jobs/triggers/${id}`, { key, body: { label: "Theirs", cron_expr: "0 3 1 1 *" } });
    await page.getByRole("button", { name: "Save" }).click();
    const clash = page.getByRole("alert", { name: "Changed elsewhere" });
    await clash.getByRole("row", { name: /^label Yearly Theirs Mine/ }).waitFor();
    await clash.getByRole("row", { name: /^cron expr/ }).waitFor();
    expect(await page.getByLabel("Cron expression").inputValue()).toBe("0 3 1 1 *");
    await page.getByRole("button", { name: "Save over theirs" }).click();
    await page.getByRole("heading", { name: "Mine", level: 1 }).waitFor();
    expect(await read(id)).toMatchObject({ label: "Mine", cron_expr: "0 3 1 1 *", version: version + 2 });
    await context.close();
  });

  test("is disabled, run manually and deleted", async () => {
    const { id } = await make({ label: "Runs" });
    const { page, context } = await stage.signIn(stage.people.admin, { at: TRIGGERS });
    const row = page.locator(`tr[data-trigger-id="${id}"]`);
    await row.getByRole("switch", { name: "Runs is on" }).click();
    await row.getByText("disabled").last().waitFor();
    await waitFor(async () => !(await read(id)).is_enabled, { what: "the switch" });
    await row.getByRole("button", { name: "Run Runs now" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("With this payload instead").check();
    await dialog.getByLabel("Payload", { exact: true }).fill('{"lines": ["by hand"]}');
    await dialog.getByRole("button", { name: "Run now" }).click();
    await page.waitForURL(/\/t\/acme\/jobs\/[0-9a-f-]{36}$/);
    const [fired] = (await firings(id)).data;
    expect(fired).toMatchObject({ kind: "manual", outcome: "enqueued", reason: null });
    expect(page.url()).toContain(fired?.job_id ?? "?");
    await page.goto(`${TRIGGERS}/${id}`);
    await page.getByRole("region", { name: "Firings" }).getByText("manual run").waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete trigger" }).click();
    await page.waitForURL(`**${TRIGGERS}`);
    await expect(read(id)).rejects.toThrow(/404/);
    await context.close();
  });

  test("a viewer can read triggers and cannot change them", async () => {
    const { id } = await make({ label: "Seen" });
    const { page, context } = await stage.signIn(stage.people.viewer, { at: TRIGGERS });
    const row = page.locator(`tr[data-trigger-id="${id}"]`);
    await row.getByRole("switch").click({ force: true });
    await row.getByRole("button", { name: "Run Seen now" }).click({ force: true });
    expect(await page.getByRole("dialog").count()).toBe(0);
    expect(await row.getByRole("switch").getAttribute("aria-disabled")).toBe("true");
    expect((await read(id)).is_enabled).toBe(true);
    await context.close();
  });
});
