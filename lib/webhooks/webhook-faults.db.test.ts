import { Webhook } from "standardwebhooks";
import { afterAll, describe, expect, test } from "vitest";
import { deleteExpired, listAttempts, readLogs } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { newWebhookSecret } from "@/lib/webhooks/delivery";
import { startReceiver } from "@/lib/webhooks/delivery/receiver.fixture";
import { processClock } from "@/worker/lease/lease-protocol";
import { LIMITS, webhookStage } from "./webhooks.fixture";

const database = await testDatabase();
const stage = await webhookStage(database);
const { make, scope, receiver, runnerWith, endpoint, deliveryJob, claim, makeDue } = stage;
const { delivered, jobOf, deliveriesOf, endpointOf } = stage;
afterAll(() => stage.close());

const attemptsOf = async (id: string) => (await listAttempts(make.web, scope, id)) ?? [];

describe("R-11 WEBHOOK-05 receivers that fail in any way", () => {
  test("each message arrives at least once, with one id, correctly signed", async () => {
    const secret = newWebhookSecret();
    const id = await endpoint({ secret });
    const byId = new Map<string, number>();
    receiver.answer = (request, response, { headers }) => {
      const key = headers["webhook-id"] ?? "";
      const nth = (byId.get(key) ?? 0) + 1;
      byId.set(key, nth);
      const fault = (Number.parseInt(key.slice(-4), 16) + nth) % 6;
      if (fault === 0 || nth > 4) response.writeHead(200).end("ok");
      else if (fault === 1) request.socket.resetAndDestroy();
      else if (fault === 2) response.writeHead(500).end();
      else if (fault === 3) response.writeHead(307, { location: receiver.url }).end();
      else if (fault === 4) response.writeHead(200).write("slow"); // the answer never ends
    };
    const quick = runnerWith({ slots: 40, limits: { ...LIMITS, totalMs: 1000 } });
    const jobs = await Promise.all(Array.from({ length: 40 }, () => deliveryJob(id)));
    const ids = jobs.map((job) => job.id);
    const open = () =>
      database.query<{ job_id: string }>("select job_id from app.live_jobs where job_id = any ($1)", [ids]);
    for (let round = 0; round < 8 && (await open()).length > 0; round += 1) {
      await makeDue(ids);
      quick.take(await claim(ids), processClock());
      await waitFor(() => quick.count === 0);
    }
    expect(await open()).toEqual([]);
    for (const jobId of ids) {
      const mine = receiver.received.filter(({ headers }) => headers["webhook-id"] === `msg_${jobId}`);
      expect(mine.length).toBeGreaterThan(0);
      expect(mine.length).toBeLessThanOrEqual((await attemptsOf(jobId)).length);
      for (const { body, headers } of mine)
        expect(() => new Webhook(secret).verify(body, { ...headers })).not.toThrow();
    }
    await waitFor(() => receiver.connections.open === 0);
  });

  test("50 receivers that do not answer do not delay one that does, on a worker with two slots", async () => {
    const hung = await startReceiver();
    hung.answer = () => undefined;
    const ids = await Promise.all(Array.from({ length: 50 }, () => endpoint({ url: hung.url })));
    const stuck = await Promise.all(ids.map((id) => deliveryJob(id)));
    const some = runnerWith({ slots: 2 });
    const stuckIds = stuck.map(({ id }) => id);
    await waitFor(async () => {
      const { free } = some.capacity();
      if (free > 0) some.take(await claim(stuckIds, free), processClock());
      return hung.connections.open === 50;
    });
    expect(some.capacity().free).toBe(2);
    receiver.answer = (_request, response) => void response.writeHead(204).end();
    const good = await deliveryJob(await endpoint());
    const began = performance.now();
    some.take(await claim([good.id]), processClock());
    await waitFor(async () => (await jobOf(good.id))?.status === "succeeded");
    expect(performance.now() - began).toBeLessThan(2000 * 5);
    some.cancel(stuckIds);
    await waitFor(() => some.count === 0 && hung.connections.open === 0);
    await hung.close();
  });
});

test("deliveries are kept for 30 days", async () => {
  receiver.answer = (_request, response) => void response.writeHead(204).end();
  const id = await endpoint();
  const [old, young] = [await delivered(id), await delivered(id)];
  await database.query(
    "update app.webhook_deliveries set created_at = app.now() - interval '30 days 1 second' where job_id = $1",
    [old],
  );
  await deleteExpired(make.scheduler);
  expect((await deliveriesOf(id)).map(({ job_id }) => job_id)).toEqual([young]);
});

test("B6 no job, log, attempt, delivery or audit row contains a secret, and the table contains sealed ones only", async () => {
  const secret = newWebhookSecret();
  const canaries = [secret, secret.slice(6), "canary-of-a-header"];
  const id = await endpoint({ secret, headers: { Authorization: "Bearer canary-of-a-header" } });
  receiver.answer = (_request, response, { headers }) =>
    void response.writeHead(500).end(`${secret} ${headers.authorization}`);
  const jobId = await delivered(id);
  const shown = JSON.stringify([
    await jobOf(jobId),
    await attemptsOf(jobId),
    await readLogs(make.web, scope, jobId, { limit: 100 }),
    await deliveriesOf(id),
    await endpointOf(id),
  ]);
  const tables = await database.query<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'app'::regnamespace and relkind = 'r'",
  );
  const stored = await Promise.all(
    tables.map(async ({ name }) => JSON.stringify(await database.query(`select t::text as row from app.${name} t`))),
  );
  for (const canary of canaries) {
    expect(shown).not.toContain(canary);
    for (const text of stored) expect(text).not.toContain(canary);
    const hex = Buffer.from(canary).toString("hex");
    for (const text of stored) expect(text).not.toContain(hex);
  }
  expect(shown).toContain(`msg_${jobId}`);
});
