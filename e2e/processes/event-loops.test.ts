import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtinDefinitions } from "@/jobs";
import { withTenant } from "@/lib/db";
import { publishEvents } from "@/lib/queue/testing";
import { environmentOf, startProcess, type TestProcess, waitFor } from "@/lib/testing/processes";
import { withEqualKeys } from "@/lib/testing/rows/equal-keys";
import { scheduleFixture } from "@/lib/testing/rows/schedules";
import { newWebhookSecret } from "@/lib/webhooks/delivery";
import { startReceiver } from "@/lib/webhooks/delivery/receiver.fixture";
import { insertEndpoint } from "@/lib/webhooks/endpoints";
import { makeSealer } from "@/lib/webhooks/seal";
import { openStage } from "./stage";

/** No work may block an event loop for 100 ms. A busy machine gets five times that. */
const MOST_MS = 500;
/** Later runs find warm code, as in a process that has run for a while. */
const ROUNDS = 3;
const MB = 1024 * 1024;
const PEM = "-----BEGIN PRIVATE KEY-----";
const TOKEN = "-eyJaaaaaa";

const stage = await openStage();
await stage.define("neighbour", { lease_seconds: 30, timeout_seconds: 120 });
const LOOPBACK = { WEBHOOK_LOOPBACK: "127.0.0.1:*", WEBHOOK_UNSAFE_IN_PRODUCTION: "true" };
let worker: TestProcess;
let scheduler: TestProcess;
beforeAll(async () => {
  [worker, scheduler] = await Promise.all([
    startProcess("worker", { database: stage.database, env: { ...stage.env, ...LOOPBACK }, probed: true }),
    startProcess("scheduler", {
      database: stage.database,
      env: { LEASEHOLD_HOME: stage.env.LEASEHOLD_HOME },
      probed: true,
    }),
  ]);
  await stage.settled(await stage.enqueue("quick"), 60_000);
}, 120_000);

const held: { readonly name: string; readonly ms: number }[] = [];
afterAll(() => {
  const sorted = held.toSorted((a, b) => b.ms - a.ms).map(({ name, ms }) => `${ms.toFixed(0)} ms: ${name}`);
  console.info(`Event loops were held for at most\n${sorted.slice(0, 8).join("\n")}`);
});

/** Repeats an action and fails if it blocked the event loop of the process each time. */
async function expectShort(name: string, process: TestProcess, work: () => Promise<unknown>): Promise<void> {
  let ms = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    await process.longestHold();
    await work();
    ms = Math.min(ms, await process.longestHold());
  }
  held.push({ name, ms });
  expect(ms, name).toBeLessThan(MOST_MS);
}

describe("no output of a command blocks the event loop of its worker", () => {
  const line = (type: string, more: string) => ({ fd: 3, text: `{"type":"${type}",${more}}\n` });
  test.each<[string, object]>([
    ["private keys without a newline", { text: PEM, bytes: 13 * MB }],
    ["tokens without a newline", { text: TOKEN, bytes: 13 * MB }],
    ["passwords", { text: "password=", bytes: 13 * MB }],
    ["empty lines", { text: "\n", bytes: 4 * MB }],
    ["short lines", { text: "a\n", bytes: 4 * MB }],
    ["colours", { text: "\u001b[31m", bytes: 4 * MB }],
    ["controls", { text: "\u0001", bytes: 4 * MB }],
    [
      "a result of many numbers",
      { fd: 3, head: '{"type":"result","value":[', text: "1,", times: 450_000, tail: "1]}\n" },
    ],
    [
      "a result of numbers that a double cannot hold",
      { fd: 3, head: '{"type":"result","value":[', text: "1e999,", times: 160_000, tail: "1]}\n" },
    ],
    [
      "a result of many keys",
      { fd: 3, head: '{"type":"result","value":{', text: '"k#":1,', times: 80_000, tail: '"z":1}}\n' },
    ],
    [
      "a result of empty objects",
      { fd: 3, head: '{"type":"result","value":[', text: "{},", times: 340_000, tail: "1]}\n" },
    ],
    [
      "a result of keys that become equal",
      { fd: 3, head: `{"type":"result","value":${JSON.stringify(withEqualKeys(9_000))}}\n`, times: 0 },
    ],
    ["a result of deep lists", { fd: 3, head: '{"type":"result","value":', text: "[", times: 900_000, tail: "\n" }],
    ["a result of private keys", { fd: 3, head: '{"type":"result","value":"', text: PEM, times: 30_000, tail: '"}\n' }],
    ["rows", { ...line("row", '"value":{"a":1}'), bytes: 4 * MB }],
    ["progress", { ...line("progress", '"percent":1,"message":"a"'), bytes: 4 * MB }],
    ["log lines", { ...line("log", `"level":"info","message":"${PEM}"`), bytes: 4 * MB }],
    ["log lines of 60 kB", { ...line("log", `"level":"info","message":"${TOKEN.repeat(6000)}"`), bytes: 4 * MB }],
    ["names of artifacts", { ...line("artifact", '"name":"a","path":"a"'), bytes: MB }],
    ["long names of artifacts", { ...line("artifact", `"name":"${"a@".repeat(30_000)}","path":"a"`), bytes: 4 * MB }],
    ["lines that are no frames", { fd: 3, text: "x\n", bytes: MB / 4 }],
    ["a line of 13 MB on fd 3", { fd: 3, text: "{", bytes: 13 * MB }],
  ])("%s", { timeout: 240_000 }, async (name, what) => {
    await expectShort(name, worker, async () => {
      const payload = { kind: "print", bytes: 1, until: "/", ...what };
      const jobId = await stage.enqueue("neighbour", payload, { maxAttempts: 1 });
      await stage.settled(jobId, 90_000);
      // The command printed everything, even if its output fails the job.
      expect(await stage.attempts(jobId)).toMatchObject([{ exit_code: 0 }]);
    });
  });
});

describe("no answer of a webhook receiver blocks the event loop of the worker", async () => {
  const builtin = builtinDefinitions.find(({ key }) => key === "deliver-webhook");
  await stage.factory.definition({ key: "deliver-webhook", executor: "webhook", arg_schema: builtin?.arg_schema ?? {} });
  const receiver = await startReceiver();
  afterAll(() => receiver.close());
  const sealer = makeSealer(environmentOf("worker", stage.database).DATA_KEY ?? "");
  const endpoint = await withTenant(stage.factory.web, stage.scope.tenantId, (tx) =>
    insertEndpoint(tx, sealer, {
      url: receiver.url,
      description: "",
      event_types: null,
      is_enabled: true,
      created_by: null,
      headers: {},
      secret: newWebhookSecret(),
    }),
  );
  test.each([
    ["private keys", PEM],
    ["tokens", TOKEN],
    ["markup", "<a><!--"],
    ["brackets", "["],
  ])("%s", { timeout: 120_000 }, async (name, text) => {
    receiver.answer = (_request, response) =>
      void response
        .writeHead(400, { "content-type": "application/json", "x-long": text.repeat(1000).slice(0, 12_000) })
        .end(text.repeat((13 * MB) / text.length));
    await expectShort(`an answer of ${name}`, worker, async () => {
      const payload = { endpoint_id: endpoint?.id, type: "a.b", data: { a: text.repeat(20_000).slice(0, 150_000) } };
      const job = await stage.settled(await stage.enqueue("deliver-webhook", payload, { maxAttempts: 1 }), 60_000);
      expect(job.status).toBe("dead_letter");
    });
  });
});

describe("neither schedules nor events block the event loop of the scheduler", () => {
  const schedules = scheduleFixture(stage.database, stage.factory);
  const keyed = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
  const TRIGGERS = 16;

  test("schedules with large templates", { timeout: 120_000 }, async () => {
    const due = () => new Date(Date.now() - 500);
    const ids: string[] = [];
    for (let n = 0; n < TRIGGERS; n += 1)
      ids.push(
        await schedules.trigger(stage.scope, {
          schedule_type: "interval",
          interval_ms: 3_600_000,
          anchor_at: "2026-01-01T00:00:00Z",
          label: `large ${n}`,
          next_run_at: due(),
          payload_template:
            n % 2 ? { a: "{{trigger.label}}".repeat(900), b: "x".repeat(200_000) } : { all: keyed(9_000) },
        }),
      );
    const fired = () =>
      waitFor(
        async () => {
          const [row] = await stage.database.query<{ left: number }>(
            "select count(*)::int as left from app.job_triggers where id = any ($1) and next_run_at < app.now()",
            [ids],
          );
          return row?.left === 0;
        },
        { withinMs: 60_000, what: "the runs of all schedules" },
      );
    await expectShort("large schedules", scheduler, async () => {
      await stage.database.query("update app.job_triggers set next_run_at = $2 where id = any ($1)", [ids, due()]);
      await fired();
    });
  });

  test("a schedule with a large template that catches up on many instants", { timeout: 180_000 }, async () => {
    const id = await schedules.trigger(stage.scope, {
      schedule_type: "interval",
      interval_ms: 1000,
      anchor_at: "2026-01-01T00:00:00Z",
      catch_up: "all",
      catch_up_limit: 1000,
      next_run_at: null,
      is_enabled: false,
      payload_template: { all: keyed(9_000) },
    });
    await expectShort("many instants", scheduler, async () => {
      // Instants of the last quarter of an hour that were not used before.
      await stage.database.query(
        `update app.job_triggers set anchor_at = anchor_at + interval '137 ms', is_enabled = true,
           next_run_at = anchor_at + interval '137 ms' + floor(extract(epoch from app.now() - anchor_at) - 900) * interval '1 s'
         where id = $1`,
        [id],
      );
      await waitFor(
        async () => {
          const [row] = await stage.database.query<{ done: boolean }>(
            "select next_run_at > app.now() - interval '2 s' as done from app.job_triggers where id = $1",
            [id],
          );
          return row?.done;
        },
        { withinMs: 60_000, what: "the end of the catch-up" },
      );
      await stage.database.query(
        "update app.job_triggers set is_enabled = false, next_run_at = null, following_run_at = null where id = $1",
        [id],
      );
    });
  });

  test("events with conditions to compare and templates to copy", { timeout: 180_000 }, async () => {
    for (let n = 0; n < 4; n += 1)
      await schedules.trigger(stage.scope, {
        trigger_type: "event",
        label: `heard ${n}`,
        schedule_type: null,
        cron_expr: null,
        timezone: null,
        event_name: "many.keys",
        ...(n % 2
          ? { condition: `${Array.from({ length: 8 }, () => "event.a==event.b").join("&&")}&&false` }
          : { payload_template: { all: "{{event}}" } }),
      });
    const data = { a: keyed(4_900), b: keyed(4_900) };
    await expectShort("large events", scheduler, async () => {
      await publishEvents(
        stage.factory.web,
        stage.scope,
        Array.from({ length: 2 }, () => ({ name: "many.keys", data })),
        {},
      );
      // Like an event left by a process that ended.
      await stage.database.query("update app.events set status = 'pending' where tenant_id = $1", [
        stage.scope.tenantId,
      ]);
      await waitFor(
        async () => {
          const [row] = await stage.database.query<{ left: number }>(
            "select count(*)::int as left from app.events where status = 'pending'",
          );
          return row?.left === 0;
        },
        { withinMs: 60_000, what: "the end of all events" },
      );
    });
  });
});
