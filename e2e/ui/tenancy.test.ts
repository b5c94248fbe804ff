import { describe, expect, test } from "vitest";
import { openStage, rowOf } from "./stage";

const stage = await openStage({ worker: false });
const CANARY = "canary-6f1d";
const FAR = "2090-01-01T00:00:00Z";

describe("two tenants in one browser", () => {
  test("no page of tenant A shows data of tenant B, also to a user of both", async () => {
    const body = { scheduled_for: FAR, tags: [CANARY], correlation_id: CANARY, dedupe_key: CANARY };
    const foreign = await stage.enqueue({ lines: [CANARY] }, body, stage.keys.globex);
    for (const person of [stage.people.admin, stage.people.both]) {
      const { page, context } = await stage.signIn(person);
      for (const path of [
        "/t/acme/jobs",
        "/t/acme/assets",
        `/t/acme/jobs?q=${foreign.id}`,
        `/t/acme/jobs/${foreign.id}`,
      ]) {
        await page.goto(path);
        await page
          .getByRole("heading", { level: 1 })
          .or(page.getByRole("heading", { level: 2 }))
          .first()
          .waitFor();
        expect(await page.content(), path).not.toContain(CANARY);
        if (!path.includes(foreign.id)) expect(await page.content(), path).not.toContain(foreign.id);
      }
      await page.getByText("Not found").waitFor();
      await context.close();
    }
  });

  test("a tenant without membership looks like one that does not exist", async () => {
    const { page, context } = await stage.signIn(stage.people.admin);
    const shown: string[] = [];
    for (const slug of ["globex", "no-such-tenant"]) {
      const answer = await page.goto(`/t/${slug}/jobs`);
      expect(answer?.status()).toBe(404);
      shown.push((await page.locator("main").textContent()) ?? "");
    }
    expect(shown[0]).toBe(shown[1]);
    const platform = await page.goto("/platform/workers");
    expect(platform?.status()).toBe(404);
    await context.close();
  });

  test("a suspended tenant can be read, says so, and offers no changes; a member cannot change webhooks", async () => {
    const { page, context } = await stage.signIn(stage.people.both, { at: "/t/acme/webhooks" });
    const add = page.getByRole("button", { name: "Add endpoint" });
    await add.waitFor();
    expect(await add.getAttribute("title")).toMatch(/your role .* member\. An admin can do this/i);
    await stage.database.query("update app.tenants set status = 'suspended' where slug = 'globex'");
    try {
      await page.goto("/t/globex/webhooks");
      await page.getByRole("status").filter({ hasText: "is suspended. It is read-only" }).waitFor();
      expect(await add.getAttribute("title")).toMatch(/is suspended/);
      expect(await add.getAttribute("aria-disabled")).toBe("true");
    } finally {
      await stage.database.query("update app.tenants set status = 'active' where slug = 'globex'");
    }
    await context.close();
  });

  test("the switcher opens the other tenant and keeps nothing of the first", async () => {
    const mine = await stage.enqueue({ lines: [] }, { scheduled_for: FAR, tags: ["only-acme"] });
    const { page, context } = await stage.signIn(stage.people.both);
    await page.getByRole("link", { name: /The acme company/ }).click();
    await rowOf(page, mine.id).waitFor();
    await page.goto(page.url()); // waits until every button of the page answers
    await rowOf(page, mine.id).waitFor();
    await page.getByRole("button", { name: /^Tenant The acme company/ }).click();
    await page.getByRole("menuitem", { name: /The globex company/ }).click();
    await page.waitForURL("**/t/globex/jobs");
    await page.locator("tr[data-job-id]").first().waitFor();
    expect(await page.content()).not.toContain(mine.id);
    await context.close();
  });

  test("on a phone the switcher opens above the drawer that contains it", async () => {
    const { page, context } = await stage.signIn(stage.people.both, {
      at: "/t/acme/jobs",
      viewport: { width: 375, height: 760 },
    });
    await page.getByRole("button", { name: "Open navigation" }).click();
    await page.getByRole("button", { name: /^Tenant The acme company/ }).click();
    await page.getByRole("menuitem", { name: /The globex company/ }).click();
    await page.waitForURL("**/t/globex/jobs");
    await context.close();
  });

  test("TENANT-13 switching in one tab does not switch another tab", async () => {
    const { page: tabA, context } = await stage.signIn(stage.people.both);
    await tabA.goto("/t/acme/jobs");
    await tabA.getByRole("heading", { name: "Jobs", level: 1 }).waitFor();
    const tabB = await context.newPage();
    await tabB.goto("/t/globex/jobs");
    await tabB.getByRole("heading", { name: "Jobs", level: 1 }).waitFor();
    await tabA.bringToFront();
    await tabA.getByRole("button", { name: "New job" }).click();
    await tabA.getByLabel("lines").fill('["from tab A"]');
    await tabA.getByRole("button", { name: "Enqueue job" }).click();
    await tabA.waitForURL(/\/t\/acme\/jobs\/[0-9a-f-]{36}/);
    const [row] = await stage.database.query<{ tenant_id: string }>(
      'select tenant_id from app.jobs where payload @> \'{"lines": ["from tab A"]}\'',
    );
    expect(row?.tenant_id).toBe(stage.acme.id);
    await context.close();
  });

  test("UI-06 pages are rendered per user and cannot be cached", async () => {
    const { page, context } = await stage.signIn(stage.people.admin);
    const [job] = await stage.database.query<{ id: string }>("select id from app.jobs where tenant_id = $1 limit 1", [
      stage.acme.id,
    ]);
    for (const path of ["/t/acme/jobs", `/t/acme/jobs/${job?.id}`, "/t/acme/assets"]) {
      for (const accept of ["text/html", "text/x-component"]) {
        const headers: Record<string, string> = { accept, ...(accept === "text/html" ? {} : { rsc: "1" }) };
        const answer = await page.request.get(path, { headers });
        expect(answer.headers()["cache-control"], path).toBe("private, no-store");
        expect(answer.headers()["x-nextjs-cache"], path).toBeUndefined();
      }
    }
    const cookies = await context.cookies();
    await context.clearCookies();
    const signedOut = await page.request.get("/t/acme/jobs", { maxRedirects: 0 });
    expect([303, 307, 308]).toContain(signedOut.status());
    await context.addCookies(cookies);
    await context.close();
  });
});
