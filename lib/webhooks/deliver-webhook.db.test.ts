import { Webhook } from "standardwebhooks";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { cancelJob } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { newWebhookSecret } from "@/lib/webhooks/delivery";
import { deleteEndpoint, lockEndpoint, rotateSecret, updateEndpoint } from "@/lib/webhooks/endpoints";
import { processClock } from "@/worker/lease/lease-protocol";
import { webhookStage } from "./webhooks.fixture";

const database = await testDatabase();
const stage = await webhookStage(database);
const { make, scope, sealer, receiver, runner, inTenant, endpoint, deliveryJob, claim, run } = stage;
const { delivered, jobOf, deliveriesOf, endpointOf } = stage;
afterAll(() => stage.close());
beforeEach(() => {
  receiver.answer = (_request, response) => void response.writeHead(204).end();
});

/** Seconds from the end of the last attempt to the next. */
const pauseOf = async (id: string) => {
  const [row] = await database.query(
    `select extract(epoch from retry_at - finished_at)::float8 as s from app.job_attempts where job_id = $1
     order by attempt_no desc limit 1`,
    [id],
  );
  return Math.round(row?.s);
};

describe("a delivery", () => {
  test("reaches the receiver signed, succeeds and is recorded", async () => {
    const secret = newWebhookSecret();
    const id = await endpoint({ secret, headers: { Authorization: "Bearer of-the-receiver", "X-Env": "test" } });
    const jobId = await delivered(id);
    const { headers, body } = receiver.received.at(-1) ?? { headers: {}, body: "" };
    expect(new Webhook(secret).verify(body, { ...headers })).toMatchObject({ type: "order.paid", data: { n: 1 } });
    expect(headers).toMatchObject({
      "webhook-id": `msg_${jobId}`,
      "leasehold-chain": "0",
      authorization: "Bearer of-the-receiver",
      "x-env": "test",
    });
    expect(await jobOf(jobId)).toMatchObject({ status: "succeeded", result: { status_code: 204 } });
    expect(await deliveriesOf(id)).toMatchObject([
      {
        job_id: jobId,
        attempt_no: 1,
        status_code: 204,
        error_code: null,
        type: "order.paid",
        message_id: `msg_${jobId}`,
      },
    ]);
  });

  test("a message of a schedule has the same id in each job that delivers it, from trigger and instant", async () => {
    const payload = { endpoint_id: await endpoint(), type: "order.paid", data: {} };
    const [triggerId, metadata] = ["0190a000-0000-7000-8000-00000000000a", { instant: "2026-03-02T09:00:00.000Z" }];
    const from = { definitionKey: "deliver-webhook", source: "schedule", sourceRef: triggerId, metadata } as const;
    const sent = [];
    for (let times = 0; times < 2; times += 1) {
      const { id } = await make.job(scope, { ...from, payload });
      await run(id);
      sent.push(receiver.received.at(-1));
    }
    const id = `msg_${triggerId}_${Date.parse(metadata.instant)}`;
    expect(sent.map((one) => one?.headers["webhook-id"])).toEqual([id, id]);
    expect(sent[0]?.body).toBe(sent[1]?.body);
    expect(await deliveriesOf(payload.endpoint_id)).toMatchObject([{ message_id: id }, { message_id: id }]);
  });

  test.each([600, 799, 999])("an answer %i is recorded and counts as a failure of the endpoint", async (status) => {
    const id = await endpoint();
    receiver.answer = (_request, response) => {
      response.socket?.end(`HTTP/1.1 ${status} Odd\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
    };
    const jobId = await delivered(id);
    expect(await deliveriesOf(id)).toMatchObject([{ job_id: jobId, status_code: null, error_code: "http_status" }]);
    expect((await deliveriesOf(id))[0]?.error_text).toContain(`${status}`);
    await database.query(
      "update app.webhook_endpoints set failing_since = app.now() - interval '6 days' where id = $1",
      [id],
    );
    await run(jobId);
    expect(await endpointOf(id)).toMatchObject({ is_enabled: false, disabled_reason: "failing" });
  });

  test("WEBHOOK-10 sends its chain depth", async () => {
    const payload = { endpoint_id: await endpoint(), type: "order.paid", data: {} };
    const { id } = await make.job(scope, { definitionKey: "deliver-webhook", payload, chainDepth: 3 });
    await run(id);
    expect(receiver.received.at(-1)?.headers).toMatchObject({ "webhook-id": `msg_${id}`, "leasehold-chain": "3" });
  });

  test("WEBHOOK-08 a secret that is rotated repeatedly: each is valid for a day, at most three at a time", async () => {
    const secrets = Array.from({ length: 5 }, newWebhookSecret);
    const [first = "", ...later] = secrets;
    const id = await endpoint({ secret: first });
    const rotations = [];
    for (const secret of later) rotations.push(await inTenant((tx) => rotateSecret(tx, sealer, { id, secret })));
    expect(rotations.slice(0, 3)).toEqual(Array(3).fill(expect.objectContaining({ id })));
    expect(rotations[3]).toBe("too-often");
    const accepted = async () => {
      await delivered(id);
      const { body = "", headers = {} } = receiver.received.at(-1) ?? {};
      return secrets.map((secret) => {
        try {
          return Boolean(new Webhook(secret).verify(body, { ...headers } as Record<string, string>));
        } catch {
          return false;
        }
      });
    };
    expect(await accepted()).toEqual([true, true, true, true, false]);
    const pass = "update app.webhook_endpoints set older_secrets_until[2] = app.now() where id = $1";
    await database.query(pass, [id]);
    expect(await accepted()).toEqual([false, true, true, true, false]);
    expect(await inTenant((tx) => rotateSecret(tx, sealer, { id, secret: secrets[4] ?? "" }))).toMatchObject({ id });
    expect(await accepted()).toEqual([false, true, true, true, true]);
  });

  test("WEBHOOK-08 is retried with the same id; a rotated secret stays valid for a day", async () => {
    const [old, fresh] = [newWebhookSecret(), newWebhookSecret()];
    const id = await endpoint({ secret: old });
    receiver.answer = (_request, response) => void response.writeHead(500).end();
    const jobId = await delivered(id);
    await inTenant((tx) => rotateSecret(tx, sealer, { id, secret: fresh }));
    await run(jobId);
    const [first, second] = receiver.received.slice(-2);
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
    expect(second?.body).toBe(first?.body);
    const verifies = (key: string) => () => new Webhook(key).verify(second?.body ?? "", { ...second?.headers });
    expect(verifies(old)).not.toThrow();
    expect(verifies(fresh)).not.toThrow();
    await database.query("update app.webhook_endpoints set previous_secret_until = app.now() where id = $1", [id]);
    await run(jobId);
    const third = receiver.received.at(-1);
    expect(() => new Webhook(fresh).verify(third?.body ?? "", { ...third?.headers })).not.toThrow();
    expect(() => new Webhook(old).verify(third?.body ?? "", { ...third?.headers })).toThrow();
    expect((await deliveriesOf(id)).map((one) => [one.attempt_no, one.error_code])).toEqual([
      [3, "http_status"],
      [2, "http_status"],
      [1, "http_status"],
    ]);
  });

  test("WH-3 waits 5 s, 5 m, 30 m, 2 h, 5 h, 10 h and 10 h, then becomes a dead letter", async () => {
    const id = await endpoint();
    receiver.answer = (_request, response) => void response.writeHead(400).end();
    const { id: jobId } = await deliveryJob(id);
    const pauses: number[] = [];
    for (let n = 1; n <= 7; n += 1) {
      await run(jobId);
      pauses.push(await pauseOf(jobId));
    }
    expect(pauses).toEqual([5, 300, 1800, 7200, 18_000, 36_000, 36_000]);
    expect((await jobOf(jobId))?.status).toBe("queued");
    await run(jobId);
    expect((await jobOf(jobId))?.status).toBe("dead_letter");
  });

  test.each([
    [429, "120", 120],
    [503, "120", 120],
    [503, "86400", 3600],
    [500, "120", 5],
    [429, "nonsense", 5],
  ])("WH-3 %d with Retry-After %s waits %d s", async (status, header, seconds) => {
    const id = await endpoint();
    receiver.answer = (_request, response) => void response.writeHead(status, { "retry-after": header }).end();
    expect(await pauseOf(await delivered(id))).toBe(seconds);
  });

  test("an endpoint without the event type receives nothing", async () => {
    const id = await endpoint({ event_types: ["invoice.*", "order.shipped"] });
    const before = receiver.received.length;
    const jobId = await delivered(id, "order.paid");
    expect(await jobOf(jobId)).toMatchObject({ status: "succeeded", result: { skipped: "event_types" } });
    expect(receiver.received.length).toBe(before);
    for (const type of ["invoice.sent", "order.shipped"]) await delivered(id, type);
    expect(receiver.received.length).toBe(before + 2);
    await delivered(id, "webhook.test");
    expect(receiver.received.length).toBe(before + 3);
    // A message that was sent before is sent again. Another message's id is not enough.
    const again = async (message_id: string, type: string) => {
      const payload = { endpoint_id: id, type, data: {}, message_id };
      const job = await make.job(scope, { definitionKey: "deliver-webhook", payload });
      await run(job.id);
      return (await jobOf(job.id))?.result;
    };
    const sent = `msg_${await delivered(id, "invoice.paid")}`;
    await database.query("update app.webhook_endpoints set event_types = '{order.shipped}' where id = $1", [id]);
    expect(await again(sent, "invoice.paid")).not.toEqual({ skipped: "event_types" });
    for (const [message, type] of [
      [sent, "order.paid"],
      [`msg_${jobId}`, "order.paid"],
      ["mine", "order.paid"],
    ] as const)
      expect(await again(message, type), message).toEqual({ skipped: "event_types" });
    expect(receiver.received.length).toBe(before + 5);
  });

  test("that is canceled closes its connection", async () => {
    receiver.answer = () => undefined;
    const id = await endpoint();
    const { id: jobId } = await deliveryJob(id);
    const seen = receiver.received.length;
    runner.take(await claim([jobId]), processClock());
    await waitFor(() => receiver.received.length > seen);
    await cancelJob(make.web, scope, jobId);
    runner.cancel([jobId]);
    await waitFor(() => runner.count === 0);
    expect((await jobOf(jobId))?.status).toBe("canceled");
    expect(await deliveriesOf(id)).toMatchObject([{ error_code: "stopped" }]);
    expect((await endpointOf(id))?.failing_since).toBeNull();
  });
});

describe("endpoints that cannot receive", () => {
  test("R-11 WH-3 410 disables the endpoint at once and is audited", async () => {
    const id = await endpoint();
    receiver.answer = (_request, response) => void response.writeHead(410).end();
    expect((await jobOf(await delivered(id)))?.status).toBe("dead_letter");
    expect(await endpointOf(id)).toMatchObject({ is_enabled: false, disabled_reason: "gone", version: 2 });
    const audit = await database.query(
      "select action, actor_kind, reason from app.security_audit where object_id = $1",
      [id],
    );
    expect(audit).toEqual([{ action: "webhook.disabled", actor_kind: "system", reason: "gone" }]);
    const before = receiver.received.length;
    expect(await jobOf(await delivered(id))).toMatchObject({ status: "dead_letter", error_type: "permission" });
    expect(receiver.received.length).toBe(before);
  });

  test("WH-3 five days of failures disable it; a success restarts the count", async () => {
    const id = await endpoint();
    const failing = () => {
      receiver.answer = (_request, response) => void response.writeHead(500).end();
    };
    const daysAgo = (days: string) =>
      database.query("update app.webhook_endpoints set failing_since = app.now() - $2::interval where id = $1", [
        id,
        days,
      ]);
    failing();
    await delivered(id);
    expect((await endpointOf(id))?.failing_since).not.toBeNull();
    await daysAgo("4 days 23 hours");
    await delivered(id);
    expect((await endpointOf(id))?.is_enabled).toBe(true);
    receiver.answer = (_request, response) => void response.writeHead(200).end();
    await delivered(id);
    expect((await endpointOf(id))?.failing_since).toBeNull();
    failing();
    await delivered(id);
    await daysAgo("5 days 1 minute");
    await delivered(id);
    expect(await endpointOf(id)).toMatchObject({ is_enabled: false, disabled_reason: "failing" });
    const current = await inTenant((tx) => lockEndpoint(tx, id));
    if (!current) throw new Error("the endpoint is gone");
    const on = await inTenant((tx) => updateEndpoint(tx, sealer, { current, change: { is_enabled: true } }));
    expect(on).toMatchObject({ is_enabled: true, disabled_reason: null, failing_since: null });
  });

  test("a deleted endpoint, another tenant's and an unknown one give the same error", async () => {
    const deleted = await endpoint();
    await inTenant((tx) => deleteEndpoint(tx, deleted));
    const foreign = await endpoint({}, await make.tenant());
    for (const id of [deleted, foreign, "019e0000-0000-7000-8000-000000000000"]) {
      expect(await jobOf(await delivered(id))).toMatchObject({
        status: "dead_letter",
        error_type: "not_found",
        last_error: "Webhook endpoint not found.",
      });
    }
    const [row] = await database.query("select secret, headers, deleted_at from app.webhook_endpoints where id = $1", [
      deleted,
    ]);
    expect(row).toMatchObject({ secret: null, headers: null, deleted_at: expect.any(Date) });
  });

  test("WEBHOOK-01 an internal address stored in the table is not connected to", async () => {
    const id = await endpoint({ url: "https://169.254.169.254/latest" });
    expect(await jobOf(await delivered(id))).toMatchObject({ status: "dead_letter", error_type: "permission" });
    expect(await deliveriesOf(id)).toMatchObject([{ error_code: "blocked", status_code: null }]);
  });

  test("secrets sealed with another key or for another endpoint are not used", async () => {
    const [mine, other] = [await endpoint(), await endpoint()];
    await database.query(
      "update app.webhook_endpoints set secret = (select secret from app.webhook_endpoints where id = $2) where id = $1",
      [mine, other],
    );
    const before = receiver.received.length;
    expect(await jobOf(await delivered(mine))).toMatchObject({ status: "dead_letter", error_type: "internal" });
    expect(receiver.received.length).toBe(before);
  });
});
