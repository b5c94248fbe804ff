import { describe, expect, test } from "vitest";
import type { EventList, Trigger } from "@/lib/contract";
import { openStage } from "./stage";

const stage = await openStage();
const key = stage.keys.acme;
const EVENTS = "/t/acme/jobs/events";

const listener = await stage.api<Trigger>("POST", "/jobs/triggers", {
  key,
  body: {
    label: "Greets the new",
    trigger_type: "event",
    event_name: "user.created",
    condition: 'event.plan == "pro"',
    definition_key: "speak",
    payload_template: { lines: ["hello {{event.name}}"] },
  },
});

describe("the page of events", () => {
  test("sends an event and shows what it started", async () => {
    const { page, context } = await stage.signIn(stage.people.admin, { at: EVENTS });
    await page.getByText("No events yet").waitFor();
    await page.getByRole("button", { name: "Send event" }).click();
    const form = page.getByRole("dialog", { name: "Send an event" });
    await form.getByLabel("Name").fill("user.created");
    await form.getByLabel("Data").fill("[]");
    await form.getByRole("button", { name: "Send event" }).click();
    await form.getByText("This must be an object in braces.").waitFor();
    await form.getByLabel("Data").fill('{"plan": "pro", "name": "Ada"}');
    await form.getByText("api/v1/events").waitFor();
    await form.getByRole("button", { name: "Send event" }).click();
    const event = page.getByRole("dialog", { name: "user.created" });
    await event.getByRole("link", { name: "Greets the new" }).waitFor();
    const started = event.getByRole("region", { name: "What it started" });
    await started.getByRole("link", { name: "Succeeded" }).click();
    await page.getByText("Started by").getByRole("link", { name: "an event" }).click();
    await event.getByRole("link", { name: "Greets the new" }).waitFor();
    await event.getByRole("button", { name: "Replay…" }).click();
    const question = page.getByRole("dialog", { name: "Replay this event?" });
    await question.getByRole("button", { name: "Replay event" }).click();
    await page.getByText("1 trigger matched, 0 jobs started").waitFor();
    await event.getByRole("list", { name: "Replays" }).getByText(stage.people.admin.email).waitFor();
    await event.getByText("deduplicated", { exact: false }).first().waitFor();
    await context.close();
  });

  test("shows which condition failed for an event, and when no trigger matches its name", async () => {
    await stage.api("POST", "/events", { key, body: { name: "user.created", data: { plan: "free" } } });
    await stage.api("POST", "/events", { key, body: { name: "user.gone" } });
    const { page, context } = await stage.signIn(stage.people.viewer, { at: EVENTS });
    await page.getByText("No enabled trigger listens to this name").waitFor();
    const row = page.getByRole("row").filter({ hasText: "No trigger matched" });
    await row.getByRole("button", { name: "user.created" }).click();
    const missed = page.getByRole("list", { name: "Triggers that did not match" });
    await missed.getByText('event.plan == "pro"').waitFor();
    await context.close();
  });

  test("a trigger is tested with an event before the event is sent", async () => {
    const count = async () =>
      (await stage.api<EventList>("GET", "/events?limit=200", { key })).data.filter(
        ({ name }) => name === listener.event_name,
      ).length;
    const before = await count();
    const { page, context } = await stage.signIn(stage.people.admin, { at: `/t/acme/jobs/triggers/${listener.id}` });
    const tried = page.getByRole("region", { name: "Try an event" });
    await tried.getByText("No match. Its condition is false.").waitFor();
    await tried.getByLabel("Event data").fill('{"plan": "pro", "name": "Grace"}');
    await tried.getByText("Matches: starts a speak job.").waitFor();
    await tried.getByText("hello Grace").waitFor();
    await tried.getByRole("button", { name: /^Replay/ }).click();
    await tried.getByText(/stored events \d+ would match/).waitFor();
    expect(await count()).toBe(before);
    await tried.getByRole("button", { name: "Send for real" }).click();
    await page.getByRole("dialog", { name: "user.created" }).getByRole("link", { name: "Greets the new" }).waitFor();
    expect(await count()).toBe(before + 1);
    await context.close();
  });
});
