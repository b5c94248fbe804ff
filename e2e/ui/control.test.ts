import type { Page } from "playwright";
import { describe, expect, test } from "vitest";
import { openStage, rowOf } from "./stage";

const stage = await openStage();
const LATER = { scheduled_for: "2090-01-01T00:00:00Z" };
const read = (id: string) =>
  stage.api<{
    id: string;
    status: string;
    priority: number;
    scheduled_for: string;
    payload: unknown;
    retried_from_id: string;
  }>("GET", `/jobs/${id}`, { key: stage.keys.acme });
const state = (page: Page) => page.getByRole("region", { name: "State" });
const ofTag = (tag: string) => ({ ...LATER, correlation_id: tag });

describe("a waiting job", () => {
  test("is paused and resumed on its page", async () => {
    const { id } = await stage.enqueue({ lines: [] }, LATER);
    const { page, context } = await stage.signIn(stage.people.admin, { at: `/t/acme/jobs/${id}` });
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await state(page).getByText("Paused", { exact: true }).first().waitFor();
    expect((await read(id)).status).toBe("paused");
    await page.getByRole("button", { name: "Resume", exact: true }).click();
    await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
    expect((await read(id)).status).toBe("queued");
    await context.close();
  });

  test("gets another priority and time; errors are shown at their field", async () => {
    const { id } = await stage.enqueue({ lines: [] }, LATER);
    const { page, context } = await stage.signIn(stage.people.admin, { at: `/t/acme/jobs/${id}` });
    await page.getByRole("button", { name: "Change", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Change this job" });
    await dialog.getByLabel("Priority").fill("5000");
    await dialog.getByRole("button", { name: "Change job" }).click();
    await dialog.locator('[name="priority"][aria-invalid=true]').waitFor();
    await dialog.getByLabel("Priority").fill("7");
    await dialog.getByLabel("Not before").fill("2091-02-03T04:05:06");
    await dialog.getByRole("button", { name: "Change job" }).click();
    await dialog.waitFor({ state: "detached" });
    const job = await read(id);
    expect([job.priority, job.scheduled_for.slice(0, 4)]).toEqual([7, "2091"]);
    await context.close();
  });
});

test("a failed job is edited and retried as a new, linked job", async () => {
  const { id } = await stage.enqueue({ lines: ["about to fail"], exit: 3 });
  await stage.settled(id);
  const { page, context } = await stage.signIn(stage.people.admin, { at: `/t/acme/jobs/${id}` });
  await page.getByRole("button", { name: "Edit and retry" }).click();
  const dialog = page.getByRole("dialog", { name: "Edit and retry" });
  await dialog.getByLabel("Payload").fill('{"lines": 3}');
  await dialog.getByRole("button", { name: "Enqueue new job" }).click();
  await dialog.locator('[name="payload"][aria-invalid=true]').waitFor();
  await dialog.getByLabel("Payload").fill('{"lines": ["better"]}');
  await dialog.getByRole("button", { name: "Enqueue new job" }).click();
  await page.waitForURL((url) => /jobs\/[0-9a-f-]{36}$/.test(url.pathname) && !url.pathname.endsWith(id));
  await state(page).getByText("Succeeded").waitFor();
  const made = await read(page.url().slice(-36));
  expect([made.payload, made.retried_from_id]).toEqual([{ lines: ["better"] }, id]);
  expect((await read(id)).status).toBe("dead_letter");
  await page.getByText("Retry of").getByRole("link").click();
  await page.waitForURL((url) => url.pathname.endsWith(id));
  await page.getByText("Retried as").getByRole("link").click();
  await page.waitForURL((url) => url.pathname.endsWith(made.id));
  await page.goto("/t/acme/jobs/dead-letters?status=resolved");
  const link = rowOf(page, id).getByText("Retried as").getByRole("link");
  expect(await link.getAttribute("href")).toBe(`/t/acme/jobs/${made.id}`);
  await context.close();
});

describe("many jobs", () => {
  test("selected rows are paused together after a count of the affected jobs", async () => {
    const jobs = [];
    for (const tag of ["a", "b"]) jobs.push(await stage.enqueue({ lines: [] }, ofTag(tag)));
    const { page, context } = await stage.signIn(stage.people.admin);
    for (const { id } of jobs) await rowOf(page, id).getByRole("checkbox").check();
    const selection = page.getByRole("region", { name: "Selection" });
    await selection.getByText("2 jobs selected").waitFor();
    await selection.getByRole("button", { name: "Act on them" }).click();
    await page.getByRole("menuitem", { name: "Pause…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("2 jobs").first().waitFor();
    await dialog.getByRole("button", { name: "Pause 2 jobs" }).click();
    const progress = page.getByRole("region", { name: "Action in progress" });
    await progress.getByText("finished: 2 done").waitFor();
    for (const { id } of jobs) expect((await read(id)).status).toBe("paused");
    await progress.getByRole("link", { name: "Details" }).click();
    await page.getByRole("heading", { name: "Pause" }).waitFor();
    for (const { id } of jobs) await page.getByRole("link", { name: id }).waitFor();
    await context.close();
  });

  test("all jobs that match the filter are canceled, also on other pages, and no others", async () => {
    await stage.api("POST", "/admin/jobs/definitions", {
      key: stage.keys.platform,
      body: { key: "crowd", command_key: "speak", arg_schema: {} },
    });
    const ids: string[] = [];
    for (let n = 0; n < 55; n += 1) {
      const job = await stage.api<{ id: string }>("POST", "/jobs", {
        key: stage.keys.acme,
        body: { definition_key: "crowd", ...LATER },
      });
      ids.push(job.id);
    }
    const other = await stage.enqueue({ lines: [] }, LATER);
    const { page, context } = await stage.signIn(stage.people.admin, { at: "/t/acme/jobs?definition=crowd" });
    await rowOf(page, ids.at(-1) ?? "").waitFor();
    await page.getByLabel("Select every job on this page").check();
    await page.getByRole("button", { name: "Select all 55 that match" }).click();
    await page.getByRole("button", { name: "Act on them" }).click();
    await page.getByRole("menuitem", { name: "Cancel…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel 55 jobs" }).click();
    await page.getByText("finished: 55 done").waitFor();
    expect((await read(ids[0] ?? "")).status).toBe("canceled");
    expect((await read(other.id)).status).toBe("queued");
    await page.getByRole("link", { name: "Bulk actions" }).click();
    await page.getByText("finished: 55 done").waitFor();
    await context.close();
  });
});

test("a dead letter is triaged, annotated and redriven", async () => {
  const { id } = await stage.enqueue({ lines: ["bad"], exit: 4 });
  await stage.settled(id);
  const { page, context } = await stage.signIn(stage.people.admin);
  await page.getByRole("link", { name: "Dead letters", exact: true }).click();
  const row = rowOf(page, id);
  await row.getByRole("combobox").selectOption("investigating");
  await page.getByText("Marked as investigating").waitFor();
  await row.getByRole("button", { name: "Note and history of speak" }).click();
  const dialog = page.getByRole("dialog", { name: "Note and history" });
  await dialog.getByText("triage: pending → investigating").waitFor();
  await dialog.getByLabel("Note").fill("the disk was full");
  await dialog.getByRole("button", { name: "Save note" }).click();
  await row.getByText("the disk was full").waitFor();
  await page.getByLabel("Triage status", { exact: true }).selectOption("pending");
  await row.waitFor({ state: "detached" });
  await page.getByLabel("Triage status", { exact: true }).selectOption("any");
  await row.getByRole("button", { name: "Put back speak" }).click();
  await page.getByText("Queued again").waitFor();
  await page.goto(`/t/acme/jobs/${id}`);
  await state(page).getByText(/run 2/).waitFor();
  await context.close();
});

test("all dead letters that match are redriven together", async () => {
  const { id } = await stage.enqueue({ lines: ["bad again"], exit: 5 });
  await stage.settled(id);
  const { page, context } = await stage.signIn(stage.people.admin, { at: "/t/acme/jobs/dead-letters" });
  await rowOf(page, id).waitFor();
  await page.getByRole("button", { name: "Put back all that match…" }).click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^Put back [1-9]/ })
    .click();
  await page.getByText(/finished: [1-9]\d* done/).waitFor();
  await context.close();
});

test("a viewer sees every control disabled, with the reason", async () => {
  const waiting = await stage.enqueue({ lines: [] }, LATER);
  const { id: failed } = await stage.enqueue({ lines: ["bad"], exit: 6 });
  await stage.settled(failed);
  const { page, context } = await stage.signIn(stage.people.viewer);
  const refused = async (name: string) => {
    const button = page.getByRole("button", { name, exact: true }).first();
    await button.waitFor();
    expect(await button.getAttribute("aria-disabled"), name).toBe("true");
    expect(await button.getAttribute("title"), name).toMatch(/Your role in The acme company is viewer/);
  };
  await page.goto(`/t/acme/jobs/${waiting.id}`);
  for (const name of ["Pause", "Change", "Cancel"]) await refused(name);
  await page.goto(`/t/acme/jobs/${failed}`);
  for (const name of ["Retry", "Edit and retry"]) await refused(name);
  await page.goto("/t/acme/jobs");
  await rowOf(page, waiting.id).getByRole("checkbox").check();
  await refused("Act on them");
  await page.goto("/t/acme/jobs/dead-letters");
  await refused("Put back all that match…");
  expect(await rowOf(page, failed).getByRole("combobox").isDisabled()).toBe(true);
  await page.goto("/t/acme/jobs/actions");
  await page.getByRole("heading", { name: "Bulk actions" }).waitFor();
  await context.close();
});
