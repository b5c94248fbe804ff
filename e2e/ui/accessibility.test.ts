import type { Page } from "playwright";
import { expect, test } from "vitest";
import { faults, NARROW } from "./axe";
import { openStage } from "./stage";

const stage = await openStage();
const { id: succeeded } = await stage.enqueue({
  lines: ["\u001b[33mwarning\u001b[0m and \u001b[36mcyan\u001b[0m", "plain"],
});
const { id: failed } = await stage.enqueue({ lines: ["x"], exit: 3 });
const { id: waiting } = await stage.enqueue({ lines: [] }, { scheduled_for: "2090-01-01T00:00:00Z", tags: ["blue"] });
const { id: action } = await stage.api<{ id: string }>("POST", "/jobs/actions", {
  key: stage.keys.acme,
  body: { action: "set_priority", priority: 90, filter: { tag: "blue" } },
});
const { id: running } = await stage.enqueue({ lines: ["x"], then_count_to: 5000, every_ms: 50 });
const { id: trigger } = await stage.api<{ id: string }>("POST", "/jobs/triggers", {
  key: stage.keys.acme,
  body: {
    label: "Nightly",
    trigger_type: "schedule",
    definition_key: "speak",
    cron_expr: "0 2 * * *",
    payload_template: { lines: ["{{schedule.at}}"] },
  },
});
const { id: listener } = await stage.api<{ id: string }>("POST", "/jobs/triggers", {
  key: stage.keys.acme,
  body: {
    label: "On a change",
    trigger_type: "event",
    event_name: "folder.changed",
    condition: "event.size > 1",
    definition_key: "speak",
    payload_template: { lines: ["{{event.name}}"] },
  },
});
const { id: event } = await stage.api<{ id: string }>("POST", "/events", {
  key: stage.keys.acme,
  body: { name: "folder.changed", data: { size: 1 } },
});
await stage.api("POST", `/jobs/triggers/${trigger}/run`, { key: stage.keys.acme, body: {} });
await Promise.all([stage.settled(succeeded), stage.settled(failed)]);

interface View {
  readonly name: string;
  readonly path: string;
  readonly ready: string;
  readonly open?: (page: Page) => Promise<void>;
  readonly alike?: string;
}

const job = (id: string, tab: string) => `/t/acme/jobs/${id}?tab=${tab}`;
const VIEWS: readonly View[] = [
  { name: "jobs", path: "/t/acme/jobs", ready: "tr[data-job-id]" },
  { name: "jobs, nothing matches", path: "/t/acme/jobs?q=none&status=failed", ready: "text=No job matches" },
  { name: "no jobs yet", path: "/t/globex/jobs", ready: "text=No jobs yet" },
  {
    name: "new job",
    path: "/t/acme/jobs",
    ready: "tr[data-job-id]",
    open: (page) => page.getByRole("button", { name: "New job" }).click(),
  },
  {
    name: "jobs selected",
    path: "/t/acme/jobs",
    ready: "tr[data-job-id]",
    open: (page) => page.getByLabel("Select every job on this page").check(),
  },
  {
    name: "an open menu",
    path: "/t/acme/jobs",
    ready: "tr[data-job-id]",
    open: (page) => page.getByRole("button", { name: /^Status/ }).click(),
  },
  {
    name: "the menu of a job",
    path: "/t/acme/jobs",
    ready: "tr[data-job-id]",
    open: (page) => page.getByRole("button", { name: "More for speak" }).first().click(),
  },
  { name: "act on many jobs", path: "/t/acme/jobs", ready: "tr[data-job-id]", open: openBulkDialog },
  {
    name: "change a job",
    path: job(waiting, "details"),
    ready: "text=Priority",
    open: (page) => page.getByRole("button", { name: "Change", exact: true }).click(),
  },
  {
    name: "edit and retry",
    path: job(failed, "details"),
    ready: "text=Priority",
    open: (page) => page.getByRole("button", { name: "Edit and retry" }).click(),
  },
  { name: "dead letters", path: "/t/acme/jobs/dead-letters", ready: "tr[data-job-id]" },
  {
    name: "note and history",
    path: "/t/acme/jobs/dead-letters",
    ready: "tr[data-job-id]",
    open: (page) => page.getByRole("button", { name: "Note and history of speak" }).first().click(),
  },
  { name: "no dead letters", path: "/t/globex/jobs/dead-letters", ready: "text=No dead letters" },
  { name: "bulk actions", path: "/t/acme/jobs/actions", ready: "text=finished" },
  { name: "no bulk actions", path: "/t/globex/jobs/actions", ready: "text=No bulk action yet" },
  { name: "one bulk action", path: `/t/acme/jobs/actions/${action}`, ready: "text=Result for each job" },
  { name: "triggers", path: "/t/acme/jobs/triggers", ready: "tr[data-trigger-id]" },
  { name: "no triggers", path: "/t/globex/jobs/triggers", ready: "text=No triggers yet" },
  { name: "one trigger", path: `/t/acme/jobs/triggers/${trigger}`, ready: "text=manual run" },
  { name: "new trigger", path: "/t/acme/jobs/triggers/new", ready: "text=In its zone", open: openMore },
  {
    name: "run a trigger",
    path: `/t/acme/jobs/triggers/${trigger}`,
    ready: "text=manual run",
    open: (page) => page.getByRole("button", { name: "Run now" }).click(),
  },
  { name: "trying an event", path: `/t/acme/jobs/triggers/${listener}`, ready: "text=is false" },
  { name: "events", path: "/t/acme/jobs/events", ready: "tr[data-event-id]" },
  { name: "one event", path: `/t/acme/jobs/events?event=${event}`, ready: "text=did not match" },
  {
    name: "send an event",
    path: "/t/globex/jobs/events",
    ready: "text=No events yet",
    open: (page) => page.getByRole("button", { name: "Send event" }).click(),
  },
  { name: "keyboard help", path: "/t/acme/jobs", ready: "tr[data-job-id]", open: (page) => page.keyboard.press("?") },
  { name: "attempts", path: job(failed, "attempts"), ready: "ol > li" },
  { name: "output", path: job(succeeded, "output"), ready: "text=plain" },
  { name: "live output", path: job(running, "output"), ready: "text=count 3" },
  { name: "input and result", path: job(succeeded, "data"), ready: "text=Payload" },
  { name: "details", path: job(waiting, "details"), ready: "text=Priority" },
  { name: "no such job", path: job("01900000-0000-7000-8000-000000000000", "details"), ready: "text=Not found" },
  { name: "assets", path: "/t/acme/assets", ready: "text=No files yet" },
  { name: "workers", path: "/platform/workers", ready: "text=Live" },
  { name: "queues", path: "/platform/queues", ready: "text=billing-sync" },
  {
    name: "pause",
    path: "/platform/queues",
    ready: "text=billing-sync",
    open: (page) => page.getByRole("button", { name: "Pause billing-sync" }).click(),
  },
  {
    name: "new limit",
    path: "/platform/queues",
    ready: "text=billing-sync",
    open: (page) => page.getByRole("button", { name: "New limit" }).click(),
  },
  { name: "change password", path: "/account/password", ready: "text=Current password" },
  { name: "API reference", path: "/docs/api", ready: "text=Authentication", alike: "main section > section" },
  { name: "errors", path: "/docs/errors", ready: "text=Errors of the API" },
  { name: "one error", path: "/docs/errors/state-conflict", ready: "text=All errors" },
  { name: "no such page", path: "/nowhere", ready: "text=Page not found" },
];

test("no page has an accessibility violation or overflows the window, in light and dark, at 375 and 1280 pixels", async () => {
  const { page, context } = await stage.signIn(stage.people.superAdmin, { viewport: NARROW });
  const found: string[] = [];
  for (const view of VIEWS) {
    await page.setViewportSize(NARROW); // what a view opens has to be within reach there, too
    await page.goto(view.path);
    await page.locator(view.ready).first().waitFor();
    await view.open?.(page);
    found.push(...(await faults(page, view.name, view.alike)));
  }
  await context.close();
  const { page: outside, context: anonymous } = await stage.open();
  await outside.goto("/login");
  found.push(...(await faults(outside, "login")));
  await anonymous.close();
  expect(found).toEqual([]);
}, 600_000);

test("a status is shown by a word and an icon, not by colour alone", async () => {
  const { page, context } = await stage.signIn(stage.people.admin);
  const badge = page.locator(`tr[data-job-id="${failed}"] td`).nth(1);
  await badge.getByText("Dead letter").waitFor();
  expect(await badge.locator("svg[aria-hidden=true]").count()).toBe(1);
  await context.close();
});

async function openMore(page: Page): Promise<void> {
  await page.getByText("More", { exact: true }).click();
  await page.getByLabel("Time zone").fill("Nowhere");
  await page.locator('[name="timezone"][aria-invalid=true]').waitFor();
}

async function openBulkDialog(page: Page): Promise<void> {
  await page.getByLabel("Select every job on this page").check();
  await page.getByRole("button", { name: "Act on them" }).click();
  await page.getByRole("menuitem", { name: "Change priority…" }).click();
  await page.getByRole("dialog").getByText("will be given another priority").waitFor();
}
