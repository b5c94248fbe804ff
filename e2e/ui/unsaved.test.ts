import type { Page } from "playwright";
import { expect, test } from "vitest";
import { openStage } from "./stage";

const stage = await openStage({ worker: false });

/** Answers the browser's next dialog. Resolves to its type. */
const answer = (page: Page, leaves: boolean) =>
  new Promise<string>((resolve) => {
    page.once("dialog", async (dialog) => {
      await (leaves ? dialog.accept() : dialog.dismiss());
      resolve(dialog.type());
    });
  });

test("a trigger form asks before unsaved input is lost by a link, Back, a reload or closing the tab", async () => {
  const { page, context } = await stage.signIn(stage.people.admin, { at: "/t/acme/jobs/triggers" });
  await page.getByRole("button", { name: "New trigger" }).click();
  await page.waitForURL(/\/triggers\/new$/);
  await page.locator('input[name="label"]').fill("Half done");
  const link = page.getByRole("link", { name: "Events", exact: true });
  const stay = answer(page, false);
  await link.click();
  expect(await stay).toBe("confirm");
  expect(await page.locator('input[name="label"]').inputValue()).toBe("Half done");
  for (const leaving of [() => window.location.reload(), () => window.history.back()]) {
    const question = answer(page, false);
    await page.evaluate(leaving);
    expect(await question).toBe(leaving.toString().includes("reload") ? "beforeunload" : "confirm");
    await page.waitForURL(/\/triggers\/new$/);
    expect(await page.locator('input[name="label"]').inputValue()).toBe("Half done");
  }
  const closing = answer(page, false);
  await page.close({ runBeforeUnload: true });
  expect([await closing, page.isClosed()]).toEqual(["beforeunload", false]);
  const leave = answer(page, true);
  await page.evaluate(() => window.history.back());
  expect(await leave).toBe("confirm");
  await page.waitForURL(/\/triggers$/);
  await page.getByRole("heading", { name: "Triggers", exact: true }).waitFor();
  await context.close();
});

test.each([
  ["a new job", "/t/acme/jobs", "New job"],
  ["an event", "/t/acme/jobs/events", "Send event"],
  ["a webhook endpoint", "/t/acme/webhooks", "Add endpoint"],
])("the form of %s asks before Escape discards input, and does not ask when there is none", async (_, at, button) => {
  const { page, context } = await stage.signIn(stage.people.admin, { at });
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: button }).first().click();
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: button }).first().click();
  const field = dialog.locator("textarea, input:not([type=checkbox])").first();
  await field.fill("x");
  const stay = answer(page, false);
  await page.keyboard.press("Escape");
  expect(await stay).toBe("confirm");
  expect(await field.inputValue()).toBe("x");
  const leave = answer(page, true);
  await page.keyboard.press("Escape");
  await leave;
  await dialog.waitFor({ state: "detached" });
  await context.close();
});
