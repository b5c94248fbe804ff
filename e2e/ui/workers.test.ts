import type { Page } from "playwright";
import { describe, expect, test } from "vitest";
import { openStage } from "./stage";

const stage = await openStage({ worker: false });

/** Poll interval of the page. The tests advance its clock by this. */
const POLL_MS = 15_000;

/** Reloads the page with a clock that the test can move. */
async function withClock(page: Page): Promise<void> {
  await page.clock.install();
  await page.goto("/platform/workers");
}

describe("the fleet", () => {
  test("without workers it shows how to start one, and lists the first worker when it starts", async () => {
    const { page, context } = await stage.signIn(stage.people.superAdmin, { at: "/platform" });
    await page.waitForURL("**/platform/workers");
    await withClock(page);
    await page.getByRole("heading", { name: "No workers" }).waitFor();
    await page.getByText("npm run worker").first().waitFor();
    const worker = await stage.startWorker();
    const row = page.getByRole("row").filter({ hasText: worker.workerId });
    await page.clock.fastForward(POLL_MS);
    await row.getByText("Live").waitFor();
    await worker.stop();
    await page.clock.fastForward(POLL_MS);
    await row.getByText("Stopped").waitFor();
    await context.close();
  });

  test("a worker without heartbeats turns late, then stale, then dead, without a reload", async () => {
    const worker = await stage.startWorker();
    const { page, context } = await stage.signIn(stage.people.superAdmin, { at: "/platform/workers" });
    await withClock(page);
    const row = page.getByRole("row").filter({ hasText: worker.workerId });
    await row.getByText("Live").waitFor();
    worker.signal("SIGKILL");
    await worker.exited;
    const seen: string[] = [];
    for (const [seconds, status] of [
      [20, "Late"],
      [40, "Stale"],
      [120, "Dead"],
    ] as const) {
      await stage.database.query(
        "update app.job_workers set last_seen_at = app.now() - make_interval(secs => $1) where worker_id = $2",
        [seconds, worker.workerId],
      );
      await page.clock.fastForward(POLL_MS);
      await row.getByText(status, { exact: true }).waitFor();
      seen.push(status);
    }
    expect(seen).toEqual(["Late", "Stale", "Dead"]);
    await context.close();
  });
});
