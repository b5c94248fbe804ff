import { describe, expect, test } from "vitest";
import { openStage, rowOf } from "./stage";

const stage = await openStage();

const NASTY = [
  "\u001b]8;;javascript:alert(1)\u001b\\click me\u001b]8;;\u001b\\",
  "<img src=x onerror=alert(1)>",
  "\u001b[2J\u001b[31mred text\u001b[0m",
  "\u001b]52;c;ZXZpbA==\u0007clip",
  "user\u202egpj.exe",
  "back\b\b\bspace",
  "</script><script>alert(1)</script>",
];

describe("UI-01 text of a job is shown and never interpreted", () => {
  test("its output is plain text with colours at most", async () => {
    const { id } = await stage.enqueue({ lines: NASTY });
    await stage.settled(id);
    const { page, context } = await stage.signIn(stage.people.admin);
    const dialogs: string[] = [];
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    await page.goto(`/t/acme/jobs/${id}?tab=output`);
    const lines = page.getByRole("region", { name: "Lines" });
    await lines.getByText("click me").waitFor();
    await lines.getByText("<img src=x onerror=alert(1)>").waitFor();
    await lines.getByText("</script><script>alert(1)</script>").waitFor();
    expect(await lines.locator(".hidden-mark").allTextContents()).toContain("U+202E");
    expect(await page.locator('main a[href^="javascript"], main img, main script').count()).toBe(0);
    expect(dialogs).toEqual([]);
    await context.close();
  });

  test("tags, keys and payloads are plain text everywhere they are shown", async () => {
    const tag = "<img src=x onerror=alert(1)>";
    const evil = `${tag}\u202egpj`;
    const { id } = await stage.enqueue(
      { lines: [evil] },
      { scheduled_for: "2090-01-01T00:00:00Z", tags: [evil], correlation_id: evil, dedupe_key: tag },
    );
    const { page, context } = await stage.signIn(stage.people.admin);
    await rowOf(page, id).waitFor();
    for (const tab of ["details", "data"]) {
      await page.goto(`/t/acme/jobs/${id}?tab=${tab}`);
      await page.locator(".hidden-mark").first().waitFor();
      expect(await page.locator("main img").count()).toBe(0);
      expect(await page.locator("main").textContent()).not.toContain("\u202e");
    }
    await context.close();
  });
});

describe("UI-03 times", () => {
  test.each([
    ["Asia/Kolkata", "de-DE", "GMT+5:30"],
    ["America/St_Johns", "en-US", "GMT-3:30"],
    ["UTC", "ar-EG", "UTC"],
  ])(
    "a browser in %s shows its own time zone, and the page hydrates without an error",
    async (timezoneId, locale, label) => {
      const { id } = await stage.enqueue({ lines: ["x"] }, { scheduled_for: "2090-01-15T12:00:00Z" });
      const { page, context } = await stage.signIn(stage.people.admin, {
        at: `/t/acme/jobs/${id}?tab=details`,
        timezoneId,
        locale,
      });
      const notBefore = page.getByRole("tabpanel").locator('time[datetime^="2090-01-15T12:00:00"]');
      await notBefore.filter({ hasText: label }).waitFor();
      expect(await notBefore.getAttribute("title")).toContain("15 Jan 2090, 12:00:00 UTC");
      await context.close();
    },
  );
});

describe("UI-10 awkward names", () => {
  test("a filter for an awkward text works like any other", async () => {
    const { page, context } = await stage.signIn(stage.people.admin);
    for (const name of ["constructor", "null", "../x", "%2F", "x".repeat(128), "שלום", "👩‍💻"]) {
      const answer = await page.goto(`/t/acme/jobs?q=${encodeURIComponent(name)}`);
      expect(answer?.status(), name).toBe(200);
      await page.getByRole("heading", { name: "No job matches" }).waitFor();
      const excess = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(excess, name).toBeLessThanOrEqual(0);
    }
    await context.close();
  });

  test("a tenant name of 200 odd characters does not break the layout", async () => {
    const name = `${"very long ".repeat(18)}👩‍💻 \u202eשלום`;
    await stage.database.query("update app.tenants set name = $1 where id = $2", [name, stage.acme.id]);
    for (const width of [1280, 375]) {
      const { page, context } = await stage.signIn(stage.people.admin, { viewport: { width, height: 800 } });
      await page.getByRole("heading", { name: "Jobs", level: 1 }).waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(
        0,
      );
      await context.close();
    }
  });
});
