import { afterAll, expect, test } from "vitest";
import { builtinDefinitions } from "@/jobs";
import { waitFor } from "@/lib/testing/processes";
import { startReceiver } from "@/lib/webhooks/delivery/receiver.fixture";
import { faults, NARROW } from "./axe";
import { openStage } from "./stage";

const stage = await openStage({
  env: { WEBHOOK_LOOPBACK: "127.0.0.1:*", WEBHOOK_UNSAFE_IN_PRODUCTION: "true" },
});
const builtin = builtinDefinitions.find(({ key }) => key === "deliver-webhook");
await stage.api("POST", "/admin/jobs/definitions", {
  key: stage.keys.platform,
  body: { key: "deliver-webhook", executor: "webhook", arg_schema: builtin?.arg_schema, max_attempts: 8 },
});
const receiver = await startReceiver();
afterAll(() => receiver.close());

test("F-02 an endpoint is created with its secret shown once, tested, inspected, resent to, changed and deleted", async () => {
  const { page, context } = await stage.signIn(stage.people.admin);
  await page.getByRole("link", { name: "Webhooks" }).click();
  await page.getByRole("heading", { name: "No endpoint yet" }).waitFor();
  await page.getByRole("button", { name: "Add endpoint" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("URL").fill("https://10.0.0.1/");
  await dialog.getByLabel("Custom headers").fill("Host: evil");
  await dialog.getByRole("button", { name: "Add endpoint" }).click();
  await dialog.getByText("must be an address of the public internet").waitFor();
  await dialog.getByLabel("URL").fill(receiver.url);
  await dialog.getByLabel("Description").fill("Orders of the shop");
  await dialog.getByLabel("Custom headers").fill("X-Env: canary-value");
  await dialog.getByRole("button", { name: "Add endpoint" }).click();
  const secret = (await dialog.getByTestId("webhook-secret").textContent()) ?? "";
  expect(secret).toMatch(/^whsec_/);
  await dialog.getByRole("button", { name: "Done" }).click();

  await page.getByRole("link", { name: receiver.url }).click();
  await page.getByText("No message was sent yet").waitFor();
  receiver.answer = (_request, response) => void response.writeHead(500).end("the shop is closed");
  await page.getByRole("button", { name: "Send test" }).click();
  const deliveries = page.getByRole("region", { name: "Deliveries" });
  await deliveries.getByText("webhook.test").first().waitFor();
  await deliveries.getByRole("button", { name: "Details" }).first().click();
  await deliveries.getByText("the shop is closed").first().waitFor();
  await deliveries.getByText("x-env: [redacted]").first().waitFor();
  await page.getByText(/^Failing, since/).waitFor();
  const before = receiver.received.length;
  receiver.answer = (_request, response) => void response.writeHead(204).end();
  await deliveries.getByRole("button", { name: "Resend" }).first().click();
  await waitFor(() => receiver.received.length > before);
  await deliveries.getByRole("button", { name: "1 new attempt – show" }).click();
  await deliveries.getByText("204").first().waitFor();
  const ids = new Set(receiver.received.map(({ headers }) => headers["webhook-id"]));
  expect(ids.size).toBe(1);
  for (const canary of [secret, "canary-value"]) expect(await page.content()).not.toContain(canary);

  await page.getByRole("button", { name: "New secret" }).click();
  await dialog.getByRole("button", { name: "Rotate secret" }).click();
  expect(await dialog.getByTestId("webhook-secret").textContent()).not.toBe(secret);
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByText(/^two, until/).waitFor();
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await dialog.getByLabel("Types").fill("order.*, invoice.sent");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("order.*, invoice.sent").waitFor();
  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByText("Disabled").first().waitFor();
  await page.getByRole("button", { name: "Enable" }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "No endpoint yet" }).waitFor();
  await context.close();
});

test("a viewer has no webhook page, and the platform page shows what webhooks may reach on this machine", async () => {
  const { page, context } = await stage.signIn(stage.people.viewer);
  expect(await page.getByRole("link", { name: "Webhooks" }).count()).toBe(0);
  expect((await page.goto("/t/acme/webhooks"))?.status()).toBe(404);
  await context.close();
  const platform = await stage.signIn(stage.people.superAdmin, { at: "/platform/workers" });
  await platform.page.getByText("127.0.0.1:*").waitFor();
  await platform.context.close();
});

test("webhooks fit screens of 1280 and 375 pixels, in light and dark, and break no rule of WCAG 2.2 AA", async () => {
  receiver.answer = (_request, response) => void response.writeHead(500).end("the shop is closed");
  const { id } = await stage.api<{ id: string }>("POST", "/webhooks", {
    key: stage.keys.acme,
    body: {
      url: `${receiver.url}/a-rather-long-path/of-a-receiver?with=parameters`,
      description: "Orders of the shop",
    },
  });
  await stage.api("POST", `/webhooks/${id}/test`, { key: stage.keys.acme, body: {} });
  const { page, context } = await stage.signIn(stage.people.admin, { at: "/t/acme/webhooks", viewport: NARROW });
  await page.getByText(/^last: 500/).waitFor();
  const found = await faults(page, "list");
  await page.setViewportSize(NARROW);
  await page.goto(`/t/acme/webhooks/${id}`);
  await page.getByRole("button", { name: "Details" }).first().click();
  await page.getByText("How the receiver checks a signature").click();
  found.push(...(await faults(page, "detail")));
  await page.setViewportSize(NARROW);
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await page.getByRole("dialog").getByLabel("URL").waitFor();
  found.push(...(await faults(page, "form")));
  await context.close();
  expect(found).toEqual([]);
});
