import type { Page } from "playwright";
import { describe, expect, test } from "vitest";
import { waitFor } from "@/lib/testing/processes";
import { openStage, rowOf } from "./stage";

const stage = await openStage();
const { id: ended } = await stage.enqueue({ lines: ["x"], exit: 3 });
await stage.settled(ended);
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

/** Addresses of the data that a page shows, in the order in which they were asked for. */
function asked(page: Page): { path: string; at: number }[] {
  const all: { path: string; at: number }[] = [];
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.pathname.includes("/jobs/stream") || url.pathname.startsWith("/_next/static")) return;
    all.push({ path: url.pathname, at: Date.now() });
  });
  return all;
}

/** Jobs at five a second, until as many have been enqueued. */
async function flow(count: number): Promise<void> {
  const start = Date.now();
  let sent = 0;
  await waitFor(
    async () => {
      if (sent < (Date.now() - start) / 200) {
        await stage.enqueue({ lines: [] });
        sent += 1;
      }
      return sent >= count ? true : null;
    },
    { withinMs: 120_000, what: "the flow of jobs" },
  );
}

const live = (page: Page) => page.getByRole("button", { name: /^Live\./ }).waitFor();

describe("a live list", () => {
  test.each([
    ["jobs", "/t/acme/jobs", 1],
    ["dead letters", "/t/acme/jobs/dead-letters", 1],
    ["one trigger", `/t/acme/jobs/triggers/${trigger}`, 3],
    ["triggers", "/t/acme/jobs/triggers", 1],
    ["events", "/t/acme/jobs/events", 1],
    ["webhooks", "/t/acme/webhooks", 1],
    ["assets", "/t/acme/assets", 1],
    ["a job that has ended", `/t/acme/jobs/${ended}`, 0],
  ])(
    "%s: jobs of others at five a second cost one fetch of a list in two seconds, and no page is prefetched",
    async (_, at, lists) => {
      const { page, context } = await stage.signIn(stage.people.admin, { at });
      const requests = asked(page);
      const opened = Date.now();
      // A page reads everything once more when its stream opens.
      await waitFor(async () => (Date.now() - (requests.at(-1)?.at ?? opened) > 3000 ? true : null), {
        withinMs: 60_000,
        what: "a quiet page",
      });
      requests.length = 0;
      const from = Date.now();
      await flow(30);
      const seconds = (Date.now() - from) / 1000;
      expect(requests.filter(({ path }) => !path.startsWith("/api/"))).toEqual([]);
      expect(requests.length, JSON.stringify(requests)).toBeLessThanOrEqual(lists * (Math.ceil(seconds / 2) + 1));
      await context.close();
    },
  );

  test("an idle page sends four requests a minute at most, and none for a job that has ended", async () => {
    const idle = [
      ["/t/acme/jobs", 4],
      ["/t/acme/jobs/dead-letters", 4],
      [`/t/acme/jobs/triggers/${trigger}`, 4],
      ["/t/acme/jobs/triggers", 4],
      ["/t/acme/jobs/events", 4],
      ["/t/acme/webhooks", 4],
      ["/t/acme/assets", 4],
      [`/t/acme/jobs/${ended}`, 0],
      [`/t/acme/jobs/${ended}?tab=output`, 0],
    ] as const;
    const platform = ["/platform/queues", "/platform/workers"].map((at) => [at, 4] as const);
    const pages = [];
    for (const [at, most] of [...idle, ...platform]) {
      // A person may hold few streams at once.
      const admin = () => stage.make.user({ roles: { [stage.acme.id]: "admin" } });
      const person = at.startsWith("/platform") ? stage.people.superAdmin : await admin();
      const { page, context } = await stage.signIn(person, { at });
      pages.push({ at, most, context, requests: asked(page) });
    }
    const quietFrom = Date.now() + 8000; // each page reads everything once more when its stream opens
    await waitFor(async () => (Date.now() > quietFrom + 60_000 ? true : null), { withinMs: 110_000, what: "a minute" });
    const sent = pages.map(({ at, most, requests }) => {
      const count = requests.filter((one) => one.at > quietFrom && one.at <= quietFrom + 60_000).length;
      return count > most ? `${at}: ${count}` : null;
    });
    expect(sent.filter((line) => line !== null)).toEqual([]);
    await Promise.all(pages.map(({ context }) => context.close()));
  }, 300_000);

  test("rows neither move nor leave while jobs arrive, and the layout does not shift", async () => {
    const { page, context } = await stage.signIn(stage.people.admin, { at: "/t/acme/jobs" });
    await live(page);
    const first = page.locator("tr[data-job-id]").first();
    const id = (await first.getAttribute("data-job-id")) ?? "";
    const before = await first.boundingBox();
    await page.evaluate(() => {
      const shifts = window as unknown as { shift: number };
      shifts.shift = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) shifts.shift += (entry as unknown as { value: number }).value;
      }).observe({ type: "layout-shift" });
    });
    await flow(25);
    await page.getByRole("button", { name: /new jobs – show/ }).waitFor();
    expect(await rowOf(page, id).boundingBox()).toEqual(before);
    expect(await page.evaluate(() => (window as unknown as { shift: number }).shift)).toBeLessThan(0.001);
    await context.close();
  });

  test("a selected row stays when the newest are shown, and the selection is above the rows without moving them", async () => {
    const { page, context } = await stage.signIn(stage.people.admin, { at: "/t/acme/jobs" });
    await live(page);
    const first = page.locator("tr[data-job-id]").first();
    const id = (await first.getAttribute("data-job-id")) ?? "";
    const before = await first.boundingBox();
    await first.getByRole("checkbox").check();
    expect(await rowOf(page, id).boundingBox()).toEqual(before);
    await flow(55);
    await page.getByRole("button", { name: /new jobs – show/ }).click();
    await rowOf(page, id).waitFor();
    await page.getByText("1 job selected").waitFor();
    await context.close();
  });
});
