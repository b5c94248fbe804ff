import type { Page } from "playwright";
import { describe, expect, test } from "vitest";
import { openStage, rowOf } from "./stage";

const stage = await openStage();

describe("the list of jobs", () => {
  test("a tenant without jobs sees what a job is and how to create one", async () => {
    const { page, context } = await stage.signIn(stage.people.stranger);
    await page.getByRole("heading", { name: "No jobs yet" }).waitFor();
    await page.getByText(`curl -X POST ${stage.web.url}/api/v1/jobs`).waitFor();
    await context.close();
  });

  test("a job enqueued elsewhere is offered in the list and updates until it succeeds", async () => {
    await stage.enqueue({ lines: ["there before"] });
    const { page, context } = await stage.signIn(stage.people.viewer);
    await live(page);
    const { id } = await stage.enqueue({ lines: ["hello"], then_count_to: 5, every_ms: 100 });
    await showNew(page);
    await rowOf(page, id).waitFor();
    await rowOf(page, id).getByText("Succeeded").waitFor();
    await page.getByRole("listitem").filter({ hasText: "Succeeded" }).getByText("2", { exact: true }).waitFor();
    await context.close();
  });

  test("rows do not move under the pointer; new rows wait to be shown", async () => {
    const { page, context } = await stage.signIn(stage.people.viewer);
    await live(page);
    const first = await stage.enqueue({ lines: ["first"] });
    await showNew(page);
    await rowOf(page, first.id).hover();
    const second = await stage.enqueue({ lines: ["second"] });
    const bar = page.getByRole("button", { name: "1 new job – show" });
    await bar.waitFor();
    expect(await rowOf(page, second.id).count()).toBe(0);
    await bar.press("Enter");
    await rowOf(page, second.id).waitFor();
    await context.close();
  });

  test("filters are in the URL, survive a reload, and Back removes them one by one", async () => {
    const failed = await stage.enqueue({ lines: [], exit: 3 });
    const fine = await stage.enqueue({ lines: ["fine"] });
    await Promise.all([stage.settled(failed.id), stage.settled(fine.id)]);
    const { page, context } = await stage.signIn(stage.people.admin);
    await rowOf(page, fine.id).waitFor();
    await page.getByRole("button", { name: /^Status/ }).click();
    await page.getByRole("menuitemcheckbox", { name: "Dead letter" }).click();
    await page.keyboard.press("Escape");
    await page.waitForURL(/status=dead_letter/);
    await rowOf(page, fine.id).waitFor({ state: "detached" });
    await page.getByLabel("Definition", { exact: true }).selectOption("speak");
    await page.waitForURL(/definition=speak/);
    await page.reload();
    await rowOf(page, failed.id).waitFor();
    expect(await rowOf(page, fine.id).count()).toBe(0);
    await page.goBack();
    await page.waitForURL((url) => !url.search.includes("definition"));
    await page.goBack();
    await page.waitForURL((url) => !url.search.includes("status"));
    await rowOf(page, fine.id).waitFor();
    await context.close();
  });

  test("a filter without matches can be cleared, and an unknown filter is named and ignored", async () => {
    const { page, context } = await stage.signIn(stage.people.admin, {
      at: "/t/acme/jobs?q=no-such-definition&colour=red",
    });
    await page.getByText("A filter in the URL was ignored").waitFor();
    await page.getByRole("heading", { name: "No job matches" }).waitFor();
    await page.getByRole("button", { name: "Remove filter matching no-such-definition" }).click();
    await page.locator("tr[data-job-id]").first().waitFor();
    await context.close();
  });

  test("older jobs are on the next page, and Back returns", async () => {
    for (let batch = 0; batch < 3; batch += 1) {
      await Promise.all(
        Array.from({ length: 20 }, () => stage.enqueue({ lines: [] }, { scheduled_for: "2090-01-01T00:00:00Z" })),
      );
    }
    const { page, context } = await stage.signIn(stage.people.admin, { at: "/t/acme/jobs?status=queued" });
    await expectRows(page, 50);
    await page.getByRole("button", { name: "Older" }).click();
    await page.waitForURL(/cursor=/);
    await expectRows(page, 10);
    await page.goBack();
    await expectRows(page, 50);
    await context.close();
  });

  test("a server error shows its request id, keeps the rows, and can be retried", async () => {
    const { page, context } = await stage.signIn(stage.people.admin);
    await live(page);
    await page.locator("tr[data-job-id]").first().waitFor();
    const problem = {
      title: "The service is not available",
      detail: "Try later.",
      status: 503,
      request_id: "req-1",
      code: "unavailable",
    };
    await context.route("**/api/v1/jobs?*", (route) =>
      route.fulfill({ status: 422, contentType: "application/problem+json", body: JSON.stringify(problem) }),
    );
    await page.getByLabel("Source").selectOption("event");
    await page.getByRole("alert").getByText("req-1").waitFor();
    const tryAgain = page.getByRole("button", { name: "Try again" });
    const asked = page.waitForRequest("**/api/v1/jobs?*");
    await tryAgain.click();
    await asked;
    await page.getByRole("alert").getByText("req-1").waitFor();
    await context.unroute("**/api/v1/jobs?*");
    // A change in the stream causes a fetch too, which may come first.
    await tryAgain
      .or(page.getByRole("heading", { name: "No job matches" }))
      .first()
      .click();
    await page.getByRole("heading", { name: "No job matches" }).waitFor();
    await context.close();
  });

  test("a page whose first answer is an error keeps showing it with a retry button until data arrives", async () => {
    const { page, context } = await stage.signIn(stage.people.superAdmin, { at: "/t/acme/jobs" });
    const id = "01900000-0000-7000-8000-000000000000";
    const body = JSON.stringify({ title: "Internal error", detail: "Try later.", status: 500, code: "internal" });
    let opens = Promise.resolve();
    await context.route(/\/api\/v1\/(?!jobs\/stream|me)/, async (route) => {
      await opens;
      // The page that sent the request may be gone by now.
      await route.fulfill({ status: 500, contentType: "application/problem+json", body }).catch(() => undefined);
    });
    const tryAgain = page.getByRole("button", { name: "Try again" });
    const failed = ["jobs/dead-letters", "jobs/triggers", "jobs/events", "jobs/actions", "webhooks", "assets"];
    const one = [
      `jobs/${id}`,
      `jobs/actions/${id}`,
      `jobs/triggers/${id}`,
      `webhooks/${id}`,
      `jobs/events?event=${id}`,
    ];
    const tenants = [...failed, ...one].map((at) => `/t/acme/${at}`);
    const lost: string[] = [];
    for (const at of [...tenants, "/platform/workers", "/platform/queues"]) {
      await page.goto(at);
      await tryAgain.first().waitFor();
      let open = () => {};
      opens = new Promise((resolve) => {
        open = resolve;
      });
      const asked = page.waitForRequest(/\/api\/v1\/(?!jobs\/stream|me)/);
      await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
      await asked;
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      if ((await tryAgain.count()) === 0) lost.push(at);
      open();
    }
    expect(lost).toEqual([]);
    await context.unroute(/\/api\/v1\/(?!jobs\/stream|me)/);
    await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
    await page.getByText("Nothing is paused.").waitFor();
    await tryAgain.first().waitFor({ state: "detached" });
    await context.close();
  });

  test("without the stream the page says so and polls", async () => {
    const { page, context } = await stage.signIn(stage.people.admin);
    await context.route("**/api/v1/jobs/stream*", (route) => route.fulfill({ status: 503, body: "" }));
    await page.goto("/t/acme/jobs?definition=speak");
    await page.getByRole("button", { name: /^Reconnecting\./ }).waitFor();
    const { id } = await stage.enqueue({ lines: ["polled"] });
    await showNew(page);
    await rowOf(page, id).waitFor();
    await context.close();
  });

  test("a paused list fetches nothing until it is resumed", async () => {
    const { page, context } = await stage.signIn(stage.people.admin);
    await page.getByRole("button", { name: /^Live\./ }).click();
    await page.getByRole("button", { name: /^Paused\./ }).waitFor();
    const { id } = await stage.enqueue({ lines: ["unseen"] });
    await stage.settled(id);
    expect(await rowOf(page, id).count()).toBe(0);
    await page.keyboard.press(".");
    await showNew(page);
    await rowOf(page, id).waitFor();
    await context.close();
  });
});

/** Waits until the page handles events, because its rows are visible earlier. */
async function live(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Live\./ }).waitFor();
}

/** Shows the waiting rows. */
async function showNew(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^\d+ new jobs? – show$/ }).click();
}

async function expectRows(page: Page, count: number): Promise<void> {
  await expect.poll(() => page.locator("tr[data-job-id]").count(), { timeout: 10_000 }).toBe(count);
}
