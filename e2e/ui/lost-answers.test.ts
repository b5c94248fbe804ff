import type { BrowserContext, Page } from "playwright";
import { afterAll, expect, test } from "vitest";
import type { Trigger } from "@/lib/contract";
import { startReceiver } from "@/lib/webhooks/delivery/receiver.fixture";
import { openStage, rowOf } from "./stage";

const stage = await openStage({
  env: { WEBHOOK_LOOPBACK: "127.0.0.1:*", WEBHOOK_UNSAFE_IN_PRODUCTION: "true" },
});
const key = stage.keys.acme;
const receiver = await startReceiver();
afterAll(() => receiver.close());
const trigger = await stage.api<Trigger>("POST", "/jobs/triggers", {
  key,
  body: {
    label: "Listens",
    trigger_type: "event",
    event_name: "user.created",
    definition_key: "speak",
    payload_template: { lines: ["hello"] },
  },
});
const later = new Date(Date.now() + 3_600_000).toISOString();
const { id: jobId } = await stage.api<{ id: string }>("POST", "/jobs", {
  key,
  body: { definition_key: "speak", payload: { lines: [] }, scheduled_for: later },
});

/** A form of the console whose request creates something: opens and fills it, and returns the button that sends it. */
interface Form {
  readonly name: string;
  readonly who: "admin" | "superAdmin";
  readonly at: string;
  readonly path: string;
  readonly fill: (page: Page) => Promise<ReturnType<Page["getByRole"]>>;
}

const dialogButton = (page: Page, name: string) => page.getByRole("dialog").getByRole("button", { name });

const FORMS: readonly Form[] = [
  {
    name: "an event",
    who: "admin",
    at: "/t/acme/jobs/events",
    path: "/events",
    fill: async (page) => {
      await page.getByRole("button", { name: "Send event" }).click();
      await page.getByRole("dialog").getByLabel("Name").fill("user.gone");
      await page.getByRole("dialog").getByLabel("Data").fill("{}");
      return dialogButton(page, "Send event");
    },
  },
  {
    name: "an event of a test",
    who: "admin",
    at: `/t/acme/jobs/triggers/${trigger.id}`,
    path: "/events",
    fill: async (page) => {
      await page.getByLabel("Event data").fill('{"n": 1}');
      return page.getByRole("button", { name: "Send for real" });
    },
  },
  {
    name: "a manual run",
    who: "admin",
    at: `/t/acme/jobs/triggers/${trigger.id}`,
    path: `/jobs/triggers/${trigger.id}/run`,
    fill: async (page) => {
      await page.getByRole("button", { name: "Run now" }).first().click();
      await page.getByRole("dialog").getByLabel("With this payload instead").check();
      await page.getByRole("dialog").getByLabel("Payload", { exact: true }).fill('{"lines": ["by hand"]}');
      return dialogButton(page, "Run now");
    },
  },
  {
    name: "an action on many jobs",
    who: "admin",
    at: "/t/acme/jobs",
    path: "/jobs/actions",
    fill: async (page) => {
      await rowOf(page, jobId).getByRole("checkbox").check();
      await page.getByRole("region", { name: "Selection" }).getByRole("button", { name: "Act on them" }).click();
      await page.getByRole("menuitem", { name: "Pause…" }).click();
      return dialogButton(page, "Pause 1 job");
    },
  },
  {
    name: "a webhook endpoint",
    who: "admin",
    at: "/t/acme/webhooks",
    path: "/webhooks",
    fill: async (page) => {
      await page.getByRole("button", { name: "Add endpoint" }).click();
      await page.getByRole("dialog").getByLabel("URL").fill(receiver.url);
      return dialogButton(page, "Add endpoint");
    },
  },
  {
    name: "a pause",
    who: "superAdmin",
    at: "/platform/queues",
    path: "/admin/pause",
    fill: async (page) => {
      await page.getByRole("button", { name: "Pause billing-sync" }).click();
      await page.getByRole("dialog").getByLabel("Reason").fill("the disk is full");
      return dialogButton(page, "Pause");
    },
  },
  {
    name: "a limit",
    who: "superAdmin",
    at: "/platform/queues",
    path: "/admin/limits",
    fill: async (page) => {
      await page.getByRole("button", { name: "New limit" }).click();
      await page.getByRole("dialog").getByLabel("Name").fill("billing-sync");
      await page.getByRole("dialog").getByLabel("At once").fill("3");
      return dialogButton(page, "Set the limit");
    },
  },
];

/** Lets the server process the first request to a path, and loses its answer. Returns the keys of all requests. */
async function loseFirstAnswer(context: BrowserContext, path: string): Promise<string[]> {
  const keys: string[] = [];
  await context.route(`**/api/v1${path}`, async (route) => {
    const sent = route.request().headers()["idempotency-key"];
    // A preview has no key.
    if (sent === undefined) return route.continue();
    keys.push(sent);
    if (keys.length > 1) return route.continue();
    await route.fetch();
    await route.abort();
  });
  return keys;
}

test.each(FORMS)("$name whose answer is lost is sent again with the same key", async ({ who, at, path, fill }) => {
  const { page, context } = await stage.signIn(stage.people[who], { at });
  const keys = await loseFirstAnswer(context, path);
  const send = await fill(page);
  await send.click();
  await page.getByText("Check the connection").first().waitFor();
  const answered = page.waitForResponse(
    (one) => one.url().endsWith(path) && "idempotency-key" in one.request().headers(),
  );
  await send.click();
  expect((await answered).ok()).toBe(true);
  expect(keys).toEqual([expect.stringMatching(/.{16}/), keys[0]]);
  await context.close();
});
