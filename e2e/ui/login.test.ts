import { describe, expect, test } from "vitest";
import { logIn, openStage } from "./stage";

const stage = await openStage({ worker: false });

describe("signing in", () => {
  test("a visitor without a session is sent to the login and back to the requested page", async () => {
    const { page, context } = await stage.open();
    await page.goto("/t/acme/jobs");
    await page.waitForURL(/\/login\?callbackUrl=/);
    await logIn(page, stage.people.admin);
    expect(new URL(page.url()).pathname).toBe("/t/acme/jobs");
    await page.getByRole("heading", { name: "Jobs", level: 1 }).waitFor();
    await context.close();
  });

  test("after the session is gone a link leads to the login, and from there back to the tenant", async () => {
    const { page, context } = await stage.signIn(stage.people.admin, { at: "/t/acme/jobs" });
    await page.getByRole("heading", { name: "No jobs yet" }).waitFor();
    await context.clearCookies();
    // A poll may notice it first, and its dialog then covers the link.
    await page.locator('a[href="/t/acme/jobs/dead-letters"]').first().dispatchEvent("click");
    await page.waitForURL(/\/login\?callbackUrl=%2Ft%2Facme%2Fjobs$/);
    await logIn(page, stage.people.admin);
    expect(new URL(page.url()).pathname).toBe("/t/acme/jobs");
    await context.close();
  });

  test("an unknown account and a wrong password show the same message", async () => {
    const { page, context } = await stage.open();
    await page.goto("/login");
    const said: (string | null)[] = [];
    for (const email of ["unknown@example.test", stage.people.viewer.email]) {
      await page.getByLabel("Email").fill(email);
      await page.getByLabel("Password").fill("not the password");
      await page.getByRole("button", { name: "Sign in" }).click();
      const alert = page.locator("form [role=alert]");
      await alert.filter({ hasText: /./ }).waitFor();
      said.push(await alert.textContent());
      await page.reload();
    }
    expect(said[0]).toBe(said[1]);
    await context.close();
  });

  test("after too many failures the page shows the waiting time and disables the button", async () => {
    const { page, context } = await stage.open();
    await page.goto("/login");
    await page.getByLabel("Email").fill("guessed@example.test");
    const alert = page.locator("form [role=alert]");
    for (let attempt = 0; attempt < 30; attempt += 1) {
      await page.getByLabel("Password").fill(`guess ${attempt}`);
      const answered = page.waitForResponse((response) => response.url().includes("/callback/credentials"));
      await page.getByRole("button", { name: "Sign in" }).click();
      if ((await answered).status() === 429) break;
      await alert.filter({ hasText: "wrong" }).waitFor();
    }
    await alert.filter({ hasText: /Too many attempts\. Try again in \d/ }).waitFor();
    expect(await page.getByRole("button", { name: "Sign in" }).getAttribute("aria-disabled")).toBe("true");
    await context.close();
    await stage.database.query("delete from app.request_buckets");
  });

  test("a one-time password leads to the password change, which shows its errors and then opens the start page", async () => {
    const person = await stage.make.user({ roles: { [stage.acme.id]: "viewer" } });
    await stage.database.query("update app.users set must_change_password = true where id = $1", [person.id]);
    const { page, context } = await stage.open();
    await page.goto("/t/acme/jobs");
    await logIn(page, person);
    await page.waitForURL("**/account/password");
    await page.getByLabel("Current password").fill("not the present one");
    await page.getByLabel("New password").fill("a password of my own");
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("It is not your current password.").waitFor();
    await page.getByLabel("Current password").fill(person.password);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.waitForURL("**/t/acme/jobs");
    await page.getByRole("heading", { name: "Jobs", level: 1 }).waitFor();
    await context.close();
  });

  test("a return URL to another site is ignored", async () => {
    const { page, context } = await stage.open();
    for (const target of ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]) {
      await page.goto(`/login?callbackUrl=${encodeURIComponent(target)}`);
      await logIn(page, stage.people.admin);
      expect(new URL(page.url()).origin, target).toBe(stage.web.url);
      await context.clearCookies();
    }
    await context.close();
  });

  test("signing out ends the session, and Back shows no page of it", async () => {
    const { page, context } = await stage.signIn(stage.people.admin, { at: "/t/acme/jobs" });
    await page.getByRole("button", { name: /^Account of/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.waitForURL(/\/login/);
    await page.goBack();
    await page.waitForURL(/\/login/);
    await context.close();
  });

  test("a session that ends while a page is open can be renewed in place", async () => {
    const { page, context } = await stage.signIn(stage.people.admin, { at: "/t/acme/jobs" });
    await page.getByRole("heading", { name: "No jobs yet" }).waitFor();
    await page.getByRole("button", { name: "New job" }).click();
    await page.getByLabel("lines").fill('["kept"]');
    await stage.database.query("update app.sessions set revoked_at = now()");
    // A poll may notice it first, and its dialog then covers the button.
    await page.getByRole("button", { name: "Enqueue job" }).dispatchEvent("click");
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.getByLabel("Password").fill(stage.people.admin.password);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await page.getByLabel("lines").inputValue()).toBe('["kept"]');
    await context.close();
  });

  test("live updates of an open page do not keep its session from going idle, a click does", async () => {
    const person = stage.people.stranger;
    const { page, context } = await stage.signIn(person, { at: "/t/globex/jobs" });
    await page.getByRole("heading", { name: "No jobs yet" }).waitFor();
    const text = "update app.sessions set last_seen_at = now() - interval '5 minutes' where user_id = $1";
    await stage.database.query(text, [person.id]);
    const usedAgo =
      "select max(last_seen_at) > now() - interval '4 minutes' as used from app.sessions where user_id = $1";
    const isUsed = async () => (await stage.database.query(usedAgo, [person.id]))[0]?.used;
    const update = async () => {
      const answered = page.waitForResponse((response) => /\/api\/v1\/jobs\?/.test(response.url()));
      await stage.enqueue({ lines: ["x"] }, { scheduled_for: "2090-01-01T00:00:00Z" }, stage.keys.globex);
      return (await answered).request().headers()["leasehold-background"];
    };
    expect(await update()).toBe("1");
    expect(await isUsed()).toBe(false);
    await page.getByRole("button", { name: /^Account of/ }).click();
    expect(await update()).toBeUndefined();
    expect(await isUsed()).toBe(true);
    await context.close();
  });
});
