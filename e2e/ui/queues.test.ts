import { describe, expect, test } from "vitest";
import { openStage } from "./stage";

const stage = await openStage();

async function openQueues() {
  const opened = await stage.signIn(stage.people.superAdmin, { at: "/platform/queues" });
  await opened.page.getByText("billing-sync").first().waitFor();
  return opened;
}

describe("the page of queues", () => {
  test("pauses a queue, shows the pause as the wait reason of its jobs, and resumes it", async () => {
    const { page, context } = await openQueues();
    await page.getByRole("button", { name: "Pause default" }).click();
    await page.getByLabel("Reason").fill("the disk is full");
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    const paused = page.getByRole("region", { name: "Paused now" });
    await paused.getByText("the disk is full").waitFor();
    const { id } = await stage.enqueue({ lines: ["x"] });
    const reader = await stage.signIn(stage.people.viewer, { at: `/t/acme/jobs/${id}` });
    await reader.page.getByText("Its queue is paused: the disk is full").first().waitFor();
    await paused.getByRole("button", { name: "Resume Queue default" }).click();
    await page.getByText("Nothing is paused.").waitFor();
    expect((await stage.settled(id)).status).toBe("succeeded");
    await reader.context.close();
    await context.close();
  });

  test("sets a limit, shows errors in one, and deletes it after a confirmation", async () => {
    const { page, context } = await openQueues();
    await page.getByRole("button", { name: "New limit" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("nowhere");
    await dialog.getByLabel("At once").fill("3");
    await dialog.getByRole("button", { name: "Set the limit" }).click();
    await dialog.getByText("does not exist").waitFor();
    await dialog.getByLabel("Name").fill("billing-sync");
    await dialog.getByRole("button", { name: "Set the limit" }).click();
    const limits = page.getByRole("region", { name: "Limits" });
    await limits.getByText("3 at once").waitFor();
    await limits.getByRole("button", { name: "Remove the limit of Queue billing-sync" }).click();
    const question = page.getByRole("dialog", { name: "Remove this limit?" });
    await question.getByRole("button", { name: "Cancel" }).click();
    await question.waitFor({ state: "detached" });
    await limits.getByText("3 at once").waitFor();
    await limits.getByRole("button", { name: "Remove the limit of Queue billing-sync" }).click();
    await question.getByRole("button", { name: "Remove limit" }).click();
    await limits.getByText("No limits").waitFor();
    await context.close();
  });

  test("is not available to members of a tenant", async () => {
    const { page, context } = await stage.signIn(stage.people.admin);
    const answer = await page.goto("/platform/queues");
    expect(answer?.status()).toBe(404);
    await context.close();
  });
});
