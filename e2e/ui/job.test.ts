import type { Page } from "playwright";
import { describe, expect, test } from "vitest";
import type { Job } from "@/lib/contract";
import { waitFor } from "@/lib/testing/processes";
import { openStage, rowOf } from "./stage";

interface Moved {
  readonly node: Node | null;
  readonly previousRect: DOMRect;
  readonly currentRect: DOMRect;
}

const stage = await openStage();

describe("a job in the browser", () => {
  test("is created with the form of its definition, runs, and shows its output and payload", async () => {
    const { page, context } = await stage.signIn(stage.people.admin);
    await page.getByRole("button", { name: "New job" }).click();
    const dialog = page.getByRole("dialog", { name: "New job" });
    await dialog.getByLabel("Definition").selectOption("speak");
    await dialog.getByLabel("lines").fill('["from the form"]');
    await dialog.getByRole("button", { name: "Enqueue job" }).click();
    await page.waitForURL(/\/jobs\/[0-9a-f-]{36}/);
    await page.getByRole("region", { name: "State" }).getByText("Succeeded").waitFor();
    await page.getByRole("tab", { name: "Output" }).click();
    await page.getByText("from the form").waitFor();
    await page.getByRole("tab", { name: "Input and result" }).click();
    expect(await page.getByRole("region", { name: "Payload" }).textContent()).toContain('"from the form"');
    await context.close();
  });

  test("errors are shown at their field, from the browser and from the server", async () => {
    const { page, context } = await stage.signIn(stage.people.admin);
    await page.getByRole("button", { name: "New job" }).click();
    await page.getByRole("button", { name: "Enqueue job" }).click();
    const lines = page.getByLabel("lines");
    expect(await lines.getAttribute("aria-invalid")).toBe("true");
    await lines.fill('["x"]');
    await page.getByLabel("every_ms").fill("99999");
    await page.getByRole("button", { name: "Enqueue job" }).click();
    await page.locator('[name="payload.every_ms"][aria-invalid=true]:focus').waitFor();
    await context.close();
  });

  test("UI-08 a double click and repeated Enter create one job", async () => {
    const { page, context } = await stage.signIn(stage.people.admin);
    await context.route("**/api/v1/jobs", async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.continue();
    });
    await page.getByRole("button", { name: "New job" }).click();
    await page.getByLabel("lines").fill('["only once"]');
    await page.getByRole("button", { name: "Options" }).or(page.getByText("Options")).first().click();
    await page.getByLabel("Priority").fill("7");
    await page.getByRole("button", { name: "Enqueue job" }).dblclick();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/jobs\/[0-9a-f-]{36}/);
    const [{ n } = { n: 0 }] = await stage.database.query<{ n: number }>(
      'select count(*)::int as n from app.jobs where payload @> \'{"lines": ["only once"]}\'',
    );
    expect(n).toBe(1);
    await context.close();
  });

  test("UI-08 a request without an answer is sent again with the same key and creates no second job", async () => {
    const { page, context } = await stage.signIn(stage.people.admin);
    let lost = 0;
    await context.route("**/api/v1/jobs", async (route) => {
      if (route.request().method() !== "POST" || lost > 0) return route.continue();
      lost += 1;
      await route.fetch();
      await route.abort();
    });
    await page.getByRole("button", { name: "New job" }).click();
    await page.getByLabel("lines").fill('["lost answer"]');
    await page.getByRole("button", { name: "Enqueue job" }).click();
    await page.getByRole("dialog").getByRole("alert").filter({ hasText: "Check the connection" }).waitFor();
    await page.getByRole("button", { name: "Enqueue job" }).click();
    await page.waitForURL(/\/jobs\/[0-9a-f-]{36}/);
    const [{ n } = { n: 0 }] = await stage.database.query<{ n: number }>(
      'select count(*)::int as n from app.jobs where payload @> \'{"lines": ["lost answer"]}\'',
    );
    expect(n).toBe(1);
    await context.close();
  });

  test("shows its output while it runs, and ends when it is canceled", async () => {
    const { id } = await stage.enqueue({ lines: ["begin"], then_count_to: 1000, every_ms: 100 });
    const { page, context } = await stage.signIn(stage.people.admin, { at: `/t/acme/jobs/${id}?tab=output` });
    await page.getByText("count 5", { exact: true }).waitFor();
    await page.getByText("count 15", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel job" }).click();
    await page.getByRole("region", { name: "State" }).getByText("Canceled").waitFor();
    expect((await stage.settled(id)).status).toBe("canceled");
    await context.close();
  });

  test("UI-08 canceling a job that has just succeeded reports the error and keeps its status", async () => {
    const { id } = await stage.enqueue({ lines: ["done"] }, { scheduled_for: "2090-01-01T00:00:00Z" });
    const { page, context } = await stage.signIn(stage.people.admin);
    await rowOf(page, id).waitFor();
    await context.route(`**/api/v1/jobs/${id}/cancel`, (route) =>
      route.fulfill({
        status: 409,
        contentType: "application/problem+json",
        body: JSON.stringify({
          title: "The job's state does not allow this",
          detail: "The job has succeeded.",
          status: 409,
          code: "state-conflict",
        }),
      }),
    );
    await rowOf(page, id).getByRole("button", { name: "Cancel speak" }).click();
    await page.getByText("Could not cancel the job").waitFor();
    expect(await rowOf(page, id).getByText("Canceled").count()).toBe(0);
    await context.unroute(`**/api/v1/jobs/${id}/cancel`);
    await rowOf(page, id).getByRole("button", { name: "Cancel speak" }).click();
    await rowOf(page, id).getByText("Canceled").waitFor();
    await context.close();
  });

  test("that failed permanently shows why, and can be retried in the browser", async () => {
    const { id } = await stage.enqueue({ lines: ["about to fail"], exit: 3 });
    await stage.settled(id);
    const { page, context } = await stage.signIn(stage.people.admin, { at: `/t/acme/jobs/${id}` });
    const state = page.getByRole("region", { name: "State" });
    await state.getByText("Dead letter").waitFor();
    await page.getByRole("button", { name: "Retry", exact: true }).click();
    await state.getByText(/run 2/).waitFor();
    await state.getByText("Dead letter").waitFor();
    // Shown automatically soon after the reader's own retry, and offered later.
    const shown = page.getByRole("heading", { name: "#2" });
    await shown.or(page.getByRole("button", { name: "1 new attempt – show" })).waitFor();
    await context.close();
  });

  test("its page does not move while it runs, fails and is retried, and a new attempt waits to be shown", async () => {
    const admin = await stage.make.user({ roles: { [stage.acme.id]: "admin" } });
    const options = { scheduled_for: "2090-01-01T00:00:00Z", max_attempts: 2, retry_delay_seconds: 3600 };
    const { id } = await stage.enqueue({ lines: ["x"], exit: 3 }, options);
    const runNow = () =>
      stage.api("PATCH", `/jobs/${id}`, {
        key: stage.keys.acme,
        body: { scheduled_for: new Date().toISOString() },
      });
    const open = async ([width, tab]: readonly [number, string]) => {
      const at = `/t/acme/jobs/${id}?tab=${tab}`;
      const { page, context } = await stage.signIn(admin, { at, viewport: { width, height: 1400 } });
      await page.getByRole("button", { name: /^Live\./ }).waitFor();
      await page.evaluate(() => {
        const seen = window as unknown as { moved: string[] };
        seen.moved = [];
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries() as unknown as { sources: Moved[] }[])
            for (const { node, previousRect: from, currentRect: to } of entry.sources)
              if (Math.abs(from.top - to.top) > 1)
                seen.moved.push(`${node?.textContent?.slice(0, 60)}: ${from.top} to ${to.top}`);
        }).observe({ type: "layout-shift" });
      });
      return { width, tab, page, context };
    };
    const views = [
      [1280, "attempts"],
      [375, "attempts"],
      [375, "data"],
      [375, "details"],
    ] as const;
    const pages: Awaited<ReturnType<typeof open>>[] = [];
    for (const view of views) pages.push(await open(view));
    const lists = pages.filter(({ tab }) => tab === "attempts");
    const state = (page: Page, text: string) => page.getByRole("region", { name: "State" }).getByText(text).waitFor();
    await runNow();
    await Promise.all(lists.map(({ page }) => page.getByRole("heading", { name: "#1" }).waitFor()));
    await waitFor(
      async () => {
        const job = await stage.api<Job>("GET", `/jobs/${id}`, { key: stage.keys.acme });
        return job.attempt_count === 1 && job.status === "queued" ? job : null;
      },
      { withinMs: 30_000, what: "the end of the first attempt" },
    );
    await Promise.all(pages.map(({ page }) => state(page, "1 of 2")));
    await Promise.all(pages.map(({ page }) => state(page, "Waiting: ")));
    await runNow();
    await Promise.all(pages.map(({ page }) => state(page, "Dead letter")));
    const waits = { name: "1 new attempt – show" };
    await Promise.all(lists.map(({ page }) => page.getByRole("button", waits).waitFor()));
    const moved = pages.map(async ({ width, tab, page }) => {
      const what = await page.evaluate(() => (window as unknown as { moved: string[] }).moved);
      return what.length > 0 ? [`${tab} at ${width}`, ...what] : [];
    });
    expect((await Promise.all(moved)).flat()).toEqual([]);
    for (const { page } of lists) {
      await page.getByRole("button", waits).click();
      await page.getByRole("heading", { name: "#2" }).waitFor();
    }
    await Promise.all(pages.map(({ context }) => context.close()));
  }, 180_000);

  test("a viewer cannot act on it and sees why", async () => {
    const { id } = await stage.enqueue({ lines: [] }, { scheduled_for: "2090-01-01T00:00:00Z" });
    const { page, context } = await stage.signIn(stage.people.viewer);
    for (const button of [
      page.getByRole("button", { name: "New job" }),
      rowOf(page, id).getByRole("button", { name: "Cancel speak" }),
    ]) {
      expect(await button.getAttribute("aria-disabled")).toBe("true");
      expect(await button.getAttribute("title")).toMatch(/Your role in The acme company is viewer/);
      await button.click({ force: true });
    }
    expect(await page.getByRole("dialog").count()).toBe(0);
    expect((await stage.api<{ status: string }>("GET", `/jobs/${id}`, { key: stage.keys.acme })).status).toBe("queued");
    await context.close();
  });

  test("everything can be done with the keyboard", async () => {
    const first = await stage.enqueue({ lines: [] }, { scheduled_for: "2090-01-01T00:00:00Z" });
    const { page, context } = await stage.signIn(stage.people.admin);
    await rowOf(page, first.id).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to content");
    await page.keyboard.press("/");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("type"))).toBe("search");
    await page.keyboard.type("jjc?n");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.press("Delete");
    await page.keyboard.press("Escape");
    await rowOf(page, first.id).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.keyboard.press("c");
    await rowOf(page, first.id).getByText("Canceled").waitFor();
    await page.getByRole("status").getByText("Canceled").waitFor();
    await page.keyboard.press("r");
    await page.getByRole("status").getByText("Queued again").waitFor();
    await rowOf(page, first.id).getByText("Canceled").waitFor({ state: "detached" });
    await page.keyboard.press("l");
    await page.waitForURL(/tab=output/);
    await page.goBack();
    await rowOf(page, first.id).waitFor();
    await page.keyboard.press("n");
    const dialog = page.getByRole("dialog", { name: "New job" });
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/jobs\/[0-9a-f-]{36}/);
    await context.close();
  });
});
