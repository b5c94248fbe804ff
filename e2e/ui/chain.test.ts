import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { paintPng } from "@/admin/samples/png";
import { builtinDefinitions } from "@/jobs";
import type { Provider, Trigger, WebhookEndpointWithSecret } from "@/lib/contract";
import { waitFor } from "@/lib/testing/processes";
import { openStage } from "./stage";

const base = realpathSync(mkdtempSync(path.join(tmpdir(), "leasehold-chain-")));
chmodSync(base, 0o755);
const folder = path.join(base, "pictures");
mkdirSync(path.join(folder, "album"), { recursive: true, mode: 0o755 });
afterAll(() => rmSync(base, { recursive: true, force: true, maxRetries: 5 }));

const stage = await openStage({
  env: {
    PROVIDER_ROOTS: base,
    COMMANDS_FILE: path.resolve("jobs/commands.json"),
    WEBHOOK_LOOPBACK: "127.0.0.1:*",
    WEBHOOK_UNSAFE_IN_PRODUCTION: "true",
  },
});
const { platform: platformKey, acme: key } = stage.keys;

async function define(name: string): Promise<void> {
  const { key: definition, executor, arg_schema } = builtinDefinitions.find((one) => one.key === name) ?? {};
  await stage.api("POST", "/admin/jobs/definitions", {
    key: platformKey,
    body: { key: definition, executor, arg_schema },
  });
}

interface Line {
  readonly listening?: string;
  readonly refused?: string;
  readonly type?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** The receiver of the documentation, which answers 401 to messages not signed with the secret. */
function startReceiver(secret: string, port: string) {
  const lines: Line[] = [];
  const child: ChildProcess = spawn(process.execPath, ["docs/examples/webhook-receiver.mjs", port], {
    env: { ...process.env, WEBHOOK_SECRET: secret },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  if (child.stdout) createInterface({ input: child.stdout }).on("line", (line) => lines.push(JSON.parse(line) as Line));
  return lines;
}

/** Returns a free port. */
async function freePort(): Promise<string> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  await new Promise((closed) => probe.close(closed));
  return String(port);
}

test("Z-05 an image put into a folder causes a signed webhook, and the browser shows it as one chain", async () => {
  await Promise.all(["sync-folder", "deliver-webhook"].map(define));
  const provider = await stage.api<Provider>("POST", "/admin/providers", {
    key: platformKey,
    body: { tenant: "acme", name: "pictures", path: folder },
  });
  const port = await freePort();
  const endpoint = await stage.api<WebhookEndpointWithSecret>("POST", "/webhooks", {
    key,
    body: { url: `http://127.0.0.1:${port}/`, description: "Receiver of the documentation" },
  });
  const received = startReceiver(endpoint.secret, port);
  await waitFor(() => received.some((line) => line.listening));
  const trigger = (body: Record<string, unknown>) =>
    stage.api<Trigger>("POST", "/jobs/triggers", { key, body: { trigger_type: "event", ...body } });
  await trigger({
    label: "Sync a folder that changed",
    event_name: "provider.folder.updated",
    definition_key: "sync-folder",
    payload_template: { provider_id: "{{event.provider_id}}", path_prefix: "{{event.folder_path}}" },
  });
  await trigger({
    label: "Announce new images",
    event_name: "images.ingest.completed",
    definition_key: "deliver-webhook",
    payload_template: {
      endpoint_id: endpoint.id,
      type: "images.ingest.completed",
      data: { images_added: "{{event.images_added}}", correlation_id: "{{meta.correlation_id}}" },
    },
  });
  // The first scan records the folder's initial state.
  const watched = () =>
    stage.database.query("select 1 from app.provider_watches where provider_id = $1", [provider.id]);
  await waitFor(async () => (await watched()).length === 1, { withinMs: 30_000, what: "the first look at the folder" });
  writeFileSync(path.join(folder, "album", "new.png"), paintPng(24, 3), { mode: 0o644 });

  const { data } = await waitFor(() => received.find(({ type }) => type === "images.ingest.completed"), {
    withinMs: 60_000,
    what: "the signed webhook",
  });
  expect(received.some(({ refused }) => refused !== undefined)).toBe(false);
  expect(data).toMatchObject({ images_added: 1 });
  const correlation = String(data?.correlation_id);
  const chain = await stage.database.query<{ what: string; id: string; depth: number }>(
    `select name as what, id, depth from app.events where correlation_id = $1
     union all select d.key, j.id, j.chain_depth from app.jobs j join app.job_definitions d on d.id = j.definition_id
       where j.correlation_id = $1 order by 3, 1 desc`,
    [correlation],
  );
  expect(chain.map(({ what, depth }) => [what, depth])).toEqual([
    ["provider.folder.updated", 0],
    ["sync-folder", 1],
    ["images.ingest.completed", 1],
    ["deliver-webhook", 2],
  ]);

  const delivery = chain.find(({ what }) => what === "deliver-webhook");
  await stage.settled(delivery?.id ?? "");
  const { page, context } = await stage.signIn(stage.people.admin, { at: `/t/acme/jobs/${delivery?.id}` });
  const panel = page.getByRole("region", { name: "Chain" });
  await panel.getByText("provider.folder.updated").waitFor();
  expect(await panel.getByTestId("correlation-id").textContent()).toBe(correlation);
  const names = await panel.getByRole("listitem").allInnerTexts();
  expect(names.map((text) => chain.find(({ what }) => text.includes(what))?.what)).toEqual(
    chain.map(({ what }) => what),
  );
  await panel.getByRole("link", { name: "images.ingest.completed" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("region", { name: "What it started" }).getByText("Announce new images").waitFor();
  await dialog.getByRole("region", { name: "Chain" }).getByRole("link", { name: "sync-folder" }).click();
  await page.getByRole("heading", { name: "sync-folder", level: 1 }).waitFor();
  await page.getByRole("link", { name: "an event" }).first().waitFor();
  expect(await panel.getByTestId("correlation-id").textContent()).toBe(correlation);
  await context.close();
});
