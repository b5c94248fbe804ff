import type { Page } from "playwright";
import { describe, expect, test } from "vitest";
import { waitFor } from "@/lib/testing/processes";
import { openStage, rowOf } from "./stage";

const LATER = "2090-01-01T00:00:00Z";
const stage = await openStage();
const { id: ended } = await stage.enqueue({ lines: ["x"], exit: 3 });
await stage.settled(ended);
const key = stage.keys.acme;
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

const { id: endpoint } = await addEndpoint("first");
const { id: action } = await act();
await addLimit({ scope: "definition", definition_key: "speak" });
// A chain: an event, the job that it stands for, which prints five lines a second, and that job's first child.
const { id: event } = await stage.api<{ id: string }>("POST", "/events", { key, body: { name: "chain.begun" } });
const { id: running } = await stage.enqueue({ lines: ["begun"], every_ms: 200, then_count_to: 3000 }, linked({}));
const { id: child } = await stage.enqueue({ lines: [] }, linked({ parent_job_id: running, scheduled_for: LATER }));

function linked(body: Record<string, unknown>) {
  return { ...body, correlation_id: event };
}
function addTrigger(label: string) {
  const body = { label, trigger_type: "event", event_name: "none.such", definition_key: "speak", payload_template: {} };
  return stage.api("POST", "/jobs/triggers", { key, body: { ...body, payload_template: { lines: ["{{event.x}}"] } } });
}
function addEndpoint(name: string) {
  return stage.api<{ id: string }>("POST", "/webhooks", { key, body: { url: `https://1.1.1.1/${name}` } });
}
function act() {
  return stage.api<{ id: string }>("POST", "/jobs/actions", { key, body: { action: "cancel", ids: [ended] } });
}
function addLimit(scope: { scope: string; queue?: string; definition_key?: string }) {
  return stage.api("POST", "/admin/limits", { key: stage.keys.platform, body: { ...scope, max_running: 50 } });
}

/** Records the requested data addresses of a page, in order. */
function asked(page: Page): { path: string; at: number }[] {
  const all: { path: string; at: number }[] = [];
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.pathname.includes("/jobs/stream") || url.pathname.startsWith("/_next/static")) return;
    all.push({ path: url.pathname, at: Date.now() });
  });
  return all;
}

/** Enqueues this many jobs, five a second. */
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

/** Each page, how many of its lists may change in this test, and how many requests it may send in an idle minute. */
const PAGES = [
  ["/t/acme/jobs", 1, 4],
  ["/t/acme/jobs/dead-letters", 1, 4],
  [`/t/acme/jobs/triggers/${trigger}`, 1, 4],
  ["/t/acme/jobs/triggers", 1, 4],
  ["/t/acme/jobs/events", 1, 4],
  ["/t/acme/jobs/actions", 1, 4],
  [`/t/acme/jobs/actions/${action}`, 0, 0],
  ["/t/acme/webhooks", 1, 4],
  [`/t/acme/webhooks/${endpoint}`, 1, 4],
  ["/t/acme/assets", 1, 4],
  ["/t/acme/jobs/triggers/new", 1, 4],
  [`/t/acme/jobs/${running}`, 3, null], // a chain is two lists, the attempts one
  [`/t/acme/jobs/${running}?tab=output`, 3, null], // a chain is two lists, the output one
  [`/t/acme/jobs/${running}?tab=details`, 3, null], // a chain is two lists, the children one
  [`/t/acme/jobs/${ended}`, 0, 0],
  [`/t/acme/jobs/${ended}?tab=output`, 0, 0],
  ["/platform/workers", 1, 4],
  ["/platform/queues", 1, 4],
] as const;

interface Shift {
  readonly value: number;
  readonly sources: readonly { readonly node: Node | null }[];
}

interface Watched {
  readonly rows: Element[];
  readonly tops: number[];
  shift: number;
  /** The shifted element. */
  readonly shifted: string[];
}

/** Records the positions of the rows, and sums up all layout shifts of the page. */
const watchRows = (page: Page) =>
  page.evaluate(() => {
    const rows = [...document.querySelectorAll("main tbody tr, main li")];
    const watched: Watched = { rows, tops: rows.map((row) => row.getBoundingClientRect().top), shift: 0, shifted: [] };
    (window as unknown as { watched: Watched }).watched = watched;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as unknown as Shift[]) {
        watched.shift += entry.value;
        watched.shifted.push(...entry.sources.map(({ node }) => node?.textContent?.slice(0, 60) ?? ""));
      }
    }).observe({ type: "layout-shift" });
  });

/** Returns the rows that left or moved since, and the layout shift. */
const movedRows = (page: Page) =>
  page.evaluate(() => {
    const { rows, tops, shift, shifted } = (window as unknown as { watched: Watched }).watched;
    const moved = rows.filter((row, index) => !row.isConnected || row.getBoundingClientRect().top !== tops[index]);
    return { rows: rows.length, moved: moved.map((row) => row.textContent?.slice(0, 60)), shift, shifted };
  });

const live = (page: Page) => page.getByRole("button", { name: /^Live\./ }).waitFor();

/** Resolves when no page has sent a request for three seconds. A page reads everything again when its stream opens. */
async function quiet(pages: readonly { readonly requests: readonly { readonly at: number }[] }[]): Promise<void> {
  const opened = Date.now();
  const last = () => Math.max(opened, ...pages.map(({ requests }) => requests.at(-1)?.at ?? opened));
  await waitFor(async () => (Date.now() - last() > 3000 ? true : null), { withinMs: 120_000, what: "quiet pages" });
}

describe("all pages open at the same time", () => {
  test("at five jobs a second each list is fetched at most once in two seconds, an idle page four times a minute, an ended job never, and no row moves", async () => {
    const pages = [];
    for (const [at, lists, idle] of PAGES) {
      // A user can have few open streams.
      const admin = () => stage.make.user({ roles: { [stage.acme.id]: "admin" } });
      const person = at.startsWith("/platform") ? stage.people.superAdmin : await admin();
      const { page, context } = await stage.signIn(person, { at });
      pages.push({ at, lists, idle, page, context, requests: asked(page) });
    }
    await quiet(pages.filter(({ at }) => !at.includes(running)));
    for (const { page } of pages) await watchRows(page);
    const from = Date.now();
    // Other users add rows to the other lists meanwhile.
    await Promise.all([
      addTrigger("second"),
      addEndpoint("second"),
      act(),
      addLimit({ scope: "queue", queue: "default" }),
    ]);
    await stage.enqueue({ lines: [] }, linked({ parent_job_id: running, scheduled_for: LATER }));
    await stage.api("POST", `/jobs/${child}/cancel`, { key, body: {} });
    await stage.database.query(
      `insert into app.job_workers select (jsonb_populate_record(w, '{"worker_id": "another"}')).* from app.job_workers w limit 1`,
    );
    await flow(30);
    const until = Date.now();
    const most = Math.ceil((until - from) / 2000) + 1;
    const busy = pages.map(({ at, lists, requests }) => {
      const sent = requests.filter((one) => one.at >= from && one.at <= until).map(({ path }) => path);
      const prefetched = sent.filter((path) => !path.startsWith("/api/"));
      const perList = Math.max(0, ...sent.map((path) => sent.filter((other) => other === path).length));
      return perList > most || sent.length > lists * most || prefetched.length > 0
        ? `${at}: ${JSON.stringify(sent)}`
        : null;
    });
    expect(busy.filter((line) => line !== null)).toEqual([]);
    const quietFrom = Date.now() + 5000;
    await waitFor(async () => (Date.now() > quietFrom + 60_000 ? true : null), { withinMs: 110_000, what: "a minute" });
    const idle = pages.map(({ at, idle: allowed, requests }) => {
      const count = requests.filter((one) => one.at > quietFrom && one.at <= quietFrom + 60_000).length;
      return allowed !== null && count > allowed ? `${at}: ${count}` : null;
    });
    expect(idle.filter((line) => line !== null)).toEqual([]);
    const moved = await Promise.all(pages.map(async ({ at, page }) => ({ at, ...(await movedRows(page)) })));
    expect(moved.filter((one) => one.moved.length > 0 || one.shift > 0.001)).toEqual([]);
    const shows = ["trigger", "endpoint", "bulk action", "worker", "limit", "link", "child"];
    const seen = await Promise.all(
      pages.map(({ page }) => page.getByRole("button", { name: /^\d+ new .* – show$/ }).allTextContents()),
    );
    for (const noun of shows) expect(seen.flat()).toContain(`1 new ${noun} – show`);
    await Promise.all(pages.map(({ context }) => context.close()));
  }, 300_000);
});

describe("the list of jobs", () => {
  test("on a phone, a row does not move under the reader's finger after scrolling", async () => {
    const jobs = Array.from({ length: 30 }, () => ({ definition_key: "speak", payload: { lines: [] } }));
    await stage.api("POST", "/jobs/bulk", { key, body: { jobs } });
    const phone = { viewport: { width: 375, height: 812 }, hasTouch: true, isMobile: true };
    const { page, context } = await stage.signIn(stage.people.admin, { at: "/t/acme/jobs", ...phone });
    const rows = page.locator("tr[data-job-id]");
    await rows.nth(20).waitFor();
    await rows.nth(20).evaluate((row) => row.scrollIntoView({ block: "center" }));
    await quiet([{ requests: asked(page) }]);
    await watchRows(page);
    const id = (await rows.nth(20).getAttribute("data-job-id")) ?? "";
    const before = await rowOf(page, id).boundingBox();
    const scrolled = await page.evaluate(() => window.scrollY);
    expect(scrolled).toBeGreaterThan(200);
    await flow(15);
    await page.getByRole("button", { name: /new jobs – show/ }).waitFor();
    expect(await movedRows(page)).toMatchObject({ moved: [], shifted: [], shift: 0 });
    expect([await page.evaluate(() => window.scrollY), await rowOf(page, id).boundingBox()]).toEqual([
      scrolled,
      before,
    ]);
    const link = await rowOf(page, id).getByRole("link").first().boundingBox();
    await page.touchscreen.tap((link?.x ?? 0) + 20, (link?.y ?? 0) + (link?.height ?? 0) / 2);
    await page.waitForURL((url) => url.pathname.endsWith(id));
    await context.close();
  });

  test("while jobs arrive no row moves or leaves and the layout does not shift", async () => {
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

  test("a selected row stays when new rows are shown, and selecting does not move the rows", async () => {
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
