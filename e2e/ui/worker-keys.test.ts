import { expect, test } from "vitest";
import { openStage } from "./stage";

const stage = await openStage({ worker: false });
await stage.api("POST", "/admin/jobs/definitions", {
  key: stage.keys.platform,
  body: { key: "resize-image", executor: "remote" },
});
const claim = async (key: string): Promise<number> => {
  const body = JSON.stringify({ worker: { name: "box-1", label: "box 1" }, definitions: ["resize-image"] });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return (await fetch(`${stage.web.url}/api/v1/worker/jobs/claim`, { method: "POST", headers, body })).status;
};

test("K-4 a super admin creates a worker key, sees it once, and revokes it", async () => {
  const { page, context } = await stage.signIn(stage.people.superAdmin, { at: "/platform/workers" });
  await page.clock.install();
  await page.goto("/platform/workers");
  // Both lists are loaded, so the button no longer moves under the pointer.
  for (const name of ["No workers", "No keys"]) await page.getByRole("heading", { name }).waitFor();
  await page.getByRole("button", { name: "New key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Queues").fill("no-such-queue");
  await dialog.getByLabel("Name").fill("image box");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByText("is not the name of a queue").waitFor();
  await dialog.getByLabel("Queues").fill("");
  await dialog.getByRole("button", { name: "Create key" }).click();
  const key = (await dialog.getByTestId("worker-key").textContent()) ?? "";
  expect(await claim(key)).toBe(200);
  await dialog.getByRole("button", { name: "Done" }).click();

  const row = page.getByRole("row").filter({ hasText: "image box" });
  await row.getByText("resize-image").waitFor();
  // The page looks for workers every 15 seconds, by its own clock.
  await page.clock.fastForward(15_000);
  await page.getByRole("row").filter({ hasText: "box 1" }).getByText("Live").waitFor();
  expect(await page.content()).not.toContain(key);

  await page.getByRole("button", { name: "Revoke image box" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await row.getByText("Revoked").waitFor();
  expect(await claim(key)).toBe(401);
  await context.close();
});

test.each([
  { width: 1280, height: 860 },
  { width: 375, height: 800 },
])("worker keys fit a screen of $width pixels, in light and dark", async (viewport) => {
  for (const colorScheme of ["light", "dark"] as const) {
    const { page, context } = await stage.signIn(stage.people.superAdmin, {
      at: "/platform/workers",
      viewport,
      colorScheme,
    });
    await page.getByText("image box").waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(wide).toBeLessThanOrEqual(0);
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByRole("dialog").getByLabel("resize-image").waitFor();
    await context.close();
  }
});
