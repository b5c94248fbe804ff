import { describe, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { refusal, TRIGGERS, triggerFixture } from "./trigger-fixture";

const database = await testDatabase();
const { web, make, acme, key, foreignKey, made, define } = await triggerFixture(database);
const EVENTS = "/api/v1/events";
type Headers = Record<string, string>;
const publish = (body: unknown, headers: Headers = {}, as = key) =>
  web.call("POST", EVENTS, { key: as, body, headers });
const read = (path: string, as = key) => web.call("GET", path, { key: as });
const testing = (body: unknown, as = key) => web.call("POST", `${TRIGGERS}/test`, { key: as, body });
const listens = (event_name: string, more: Record<string, unknown> = {}) =>
  made({ label: event_name, trigger_type: "event", event_name, definition_key: "any", ...more });

describe("publishing", () => {
  test("Z-05 an event starts the triggers that match it and returns their jobs; another tenant sees and starts nothing", async () => {
    const trigger = await listens("folder.updated", {
      condition: 'event.path.startsWith("/photos")',
      payload_template: { where: "{{event.path}}", id: "{{meta.id}}" },
    });
    const answer = await publish({ name: "folder.updated", data: { path: "/photos/a" }, correlation_id: "c-9" });
    expect(answer.status, answer.text).toBe(201);
    expect(answer.body).toMatchObject({ duplicate: false, status: "done", matched_count: 1, started_count: 1 });
    expect(answer.headers.get("location")).toBe(`${EVENTS}/${answer.body.id}`);
    const event = (await read(`${EVENTS}/${answer.body.id}`)).body;
    expect(event).toMatchObject({
      source: "api",
      correlation_id: "c-9",
      data: { path: "/photos/a" },
      firings: [{ trigger_id: trigger.id, outcome: "enqueued", job_status: "queued", definition_key: "any" }],
    });
    const job = (await read(`/api/v1/jobs/${event.firings[0].job_id}`)).body;
    expect(job).toMatchObject({
      source: "event",
      source_ref: event.id,
      correlation_id: "c-9",
      payload: { where: "/photos/a", id: event.id },
    });
    expect(answer.body.job_ids).toEqual([job.id]);
    const missed = (await publish({ name: "folder.updated", data: { path: "/other" } })).body;
    expect(missed).toMatchObject({ matched_count: 0, reason: "no_match" });
    expect((await read(`${EVENTS}/${missed.id}`)).body.misses).toEqual([
      {
        trigger_id: trigger.id,
        trigger_label: "folder.updated",
        reason: "condition",
        part: 'event.path.startsWith("/photos")',
        detail: null,
      },
    ]);
    expect((await publish({ name: "folder.updated" }, {}, foreignKey)).body).toMatchObject({ reason: "no_trigger" });
    expect((await read(`${EVENTS}/${event.id}`, foreignKey)).status).toBe(404);
    const foreign = (await read(EVENTS, foreignKey)).body.data;
    expect(foreign.map(({ reason }: { reason: string }) => reason)).toEqual(["no_trigger"]);
  });

  test("a batch is answered in its order; one producer id or Idempotency-Key stores one event", async () => {
    const batch = {
      events: [{ name: "b.one", producer_id: "p-1" }, { name: "b.two" }, { name: "b.one", producer_id: "p-1" }],
    };
    const answer = await publish(batch);
    expect(answer.status, answer.text).toBe(201);
    expect(answer.body.data.map((e: Record<string, unknown>) => [e.name, e.duplicate])).toEqual([
      ["b.one", false],
      ["b.two", false],
      ["b.one", true],
    ]);
    const again = await publish({ name: "b.one", producer_id: "p-1" });
    expect([again.status, again.body.duplicate, again.body.id]).toEqual([200, true, answer.body.data[0].id]);
    const headers = { "idempotency-key": "one-event" };
    const [first, second] = [await publish({ name: "b.key" }, headers), await publish({ name: "b.key" }, headers)];
    expect([second.status, second.body]).toEqual([201, first.body]);
    const listed = await read(`${EVENTS}?name=b.*`);
    expect(listed.body.data).toHaveLength(3);
    const page = await read(`${EVENTS}?name=b.*&limit=2`);
    const next = await read(`${EVENTS}?name=b.*&limit=2&cursor=${page.body.pagination.next_cursor}`);
    expect([page.body.data.length, next.body.data.length, next.body.pagination.has_more]).toEqual([2, 1, false]);
    expect((await read(`${EVENTS}?name=c.*&cursor=${page.body.pagination.next_cursor}`)).body.code).toBe(
      "invalid-cursor",
    );
  });

  test("replaying a stored event adds an audit row, once for each Idempotency-Key", async () => {
    const event = (await publish({ name: "late.listener", data: { n: 1 } })).body;
    expect(event).toMatchObject({ reason: "no_trigger", job_ids: [] });
    await listens("late.listener", { payload_template: { n: "{{event.n}}" } });
    const replay = (as = key, headers: Headers = {}, body: unknown = {}) =>
      web.call("POST", `${EVENTS}/${event.id}/replay`, { key: as, body, headers });
    const once = { "idempotency-key": "replay-1" };
    const [first, repeat] = [await replay(key, once), await replay(key, once)];
    expect([first.status, first.body.started_count, first.body.job_ids.length], first.text).toEqual([200, 1, 1]);
    expect([repeat.body, repeat.headers.get("idempotency-replayed")]).toEqual([first.body, "true"]);
    expect((await replay()).body).toMatchObject({ matched_count: 1, started_count: 0, job_ids: [] });
    const shown = (await read(`${EVENTS}/${event.id}`)).body;
    expect(shown.replays.map((one: Record<string, unknown>) => one.actor_kind)).toEqual(["api_key", "api_key"]);
    expect(shown.firings.map((one: Record<string, unknown>) => one.outcome)).toEqual(["enqueued", "deduplicated"]);
    expect((await replay(foreignKey)).status).toBe(404);
    expect((await replay(key, {}, { all: true })).status).toBe(422);
    const viewer = await make.user({ roles: { [acme.id]: "viewer" } });
    const reader = await make.key(viewer, { tenantId: acme.id, scopes: ["events:read", "events:write"] });
    expect((await replay(reader.key)).status).toBe(403);
  });

  test.each<[string, unknown, string[]]>([
    ["without a name", { data: {} }, ["/name"]],
    ["with an unknown field", { name: "a", x: 1 }, ["/x"]],
    ["both single and batch", { name: "a", events: [{ name: "b" }] }, ["/name"]],
    ["with data that is no object", { name: "a", data: [1] }, ["/data"]],
    ["with a NUL in a batch", { events: [{ name: "a" }, { name: "b", data: { x: "\u0000" } }] }, ["/events/1/data/x"]],
    ["with too many", { events: Array.from({ length: 501 }, () => ({ name: "a" })) }, ["/events"]],
  ])("an event %s is refused", async (_what, body, pointers) => {
    expect(refusal(await publish(body))).toEqual(pointers);
  });

  test("viewers can only read events, and a key needs the scope", async () => {
    const keyOf = async (role: "viewer" | "member", scopes: string[]) =>
      (await make.key(await make.user({ roles: { [acme.id]: role } }), { tenantId: acme.id, scopes })).key;
    const viewer = await keyOf("viewer", ["events:read", "events:write", "jobs:read", "triggers:read"]);
    expect([(await read(EVENTS, viewer)).status, (await publish({ name: "a" }, {}, viewer)).status]).toEqual([
      200, 403,
    ]);
    expect((await testing({ event: { name: "a" } }, viewer)).status).toBe(200);
    const replay = { replay: 5, draft: { event_name: "a", payload_template: { all: "{{event}}" } } };
    expect((await testing(replay, viewer)).status).toBe(200);
    const ofTriggers = await keyOf("member", ["triggers:read"]);
    expect((await testing({ event: { name: "a" } }, ofTriggers)).status).toBe(200);
    expect((await testing(replay, ofTriggers)).body.code).toBe("insufficient-scope");
    const writer = await keyOf("member", ["events:write", "jobs:create"]);
    expect([(await read(EVENTS, writer)).status, (await publish({ name: "a" }, {}, writer)).status]).toEqual([
      403, 201,
    ]);
    const startsNothing = await keyOf("member", ["events:write"]);
    expect((await publish({ name: "a" }, {}, startsNothing)).body.code).toBe("insufficient-scope");
  });

  test("TEMPLATE-08 WEBHOOK-10 a chain of jobs that cause each other through the API ends at the depth limit", async () => {
    await listens("lap.done", { payload_template: { n: "{{meta.id}}" } });
    const at = (chain: string) => publish({ name: "lap.done" }, { "leasehold-chain": chain });
    expect((await at("7")).body).toMatchObject({ started_count: 1, reason: null });
    const deep = (await at("8")).body;
    expect(deep).toMatchObject({ matched_count: 1, started_count: 0, reason: "loop" });
    expect((await read(`${EVENTS}/${deep.id}`)).body).toMatchObject({
      depth: 8,
      firings: [{ outcome: "skipped", reason: "loop" }],
    });
    const enqueue = (chain: string) =>
      web.call("POST", "/api/v1/jobs", { key, body: { definition_key: "any" }, headers: { "leasehold-chain": chain } });
    expect((await enqueue("7")).status).toBe(201);
    const refused = await enqueue("8");
    expect([refused.status, refused.body.code]).toEqual([409, "chain-too-deep"]);
    expect((await at("x")).status).toBe(400);
  });

  test("TEMPLATE-08 WEBHOOK-10 every other route that creates a job counts the chain depth and enforces its limit", async () => {
    const { id } = await listens("by.hand");
    const [hook] = await database.query<{ id: string }>(
      `insert into app.webhook_endpoints (tenant_id, url, secret) values ($1, 'https://x.example', 'x') returning id`,
      [acme.id],
    );
    const job = (await publish({ name: "by.hand" })).body;
    const [firing] = (await read(`${EVENTS}/${job.id}`)).body.firings;
    await database.query("update app.jobs set payload = $2 where id = $1", [
      firing.job_id,
      { endpoint_id: hook?.id, type: "a", data: {} },
    ]);
    const [sent] = await database.query<{ id: string }>(
      `insert into app.webhook_deliveries (tenant_id, endpoint_id, job_id, attempt_no, message_id, type, url, request, duration_ms, started_at)
       values ($1, $2, $3, 1, 'm', 'a', 'https://x.example', '', 1, now()) returning id`,
      [acme.id, hook?.id, firing.job_id],
    );
    await define({ key: "deliver-webhook", executor: "webhook" });
    const hookPath = `/api/v1/webhooks/${hook?.id}`;
    for (const path of [`${TRIGGERS}/${id}/run`, `${hookPath}/test`, `${hookPath}/deliveries/${sent?.id}/resend`]) {
      const call = (chain: string) => web.call("POST", path, { key, body: {}, headers: { "leasehold-chain": chain } });
      const made = await call("7");
      expect(made.status, made.text).toBe(201);
      const [row] = await database.query("select chain_depth from app.jobs where id = $1", [
        made.body.job_id ?? made.body.job.id,
      ]);
      expect(row, path).toEqual({ chain_depth: 8 });
      expect((await call("8")).body.code, path).toBe("chain-too-deep");
      expect((await call("x")).status, path).toBe(400);
    }
  });

  test("running a trigger requires the right to enqueue; the right to change triggers alone is not enough", async () => {
    const { id } = await listens("by.hand");
    const member = await make.user({ roles: { [acme.id]: "member" } });
    const run = async (...scopes: string[]) => {
      const { key: as } = await make.key(member, { tenantId: acme.id, scopes });
      const { status, body } = await web.call("POST", `${TRIGGERS}/${id}/run`, { key: as, body: {} });
      return [status, body.code];
    };
    expect(await run("triggers:write")).toEqual([403, "insufficient-scope"]);
    expect(await run("jobs:write")).toEqual([403, "insufficient-scope"]);
    expect(await run("triggers:write", "jobs:write")).toEqual([201, undefined]);
  });
});

describe("testing triggers", () => {
  test("returns which triggers match or which condition failed, with payload and dedupe, and writes nothing", async () => {
    const trigger = await listens("t.done", {
      condition: "event.n > 1 && has(event.who)",
      payload_template: { n: "{{event.n}}" },
    });
    await publish({ name: "t.done", data: { n: 5, who: "me" } });
    const count = async () => (await database.query("select count(*)::int as n from app.events"))[0]?.n;
    const before = await count();
    const once = await testing({ event: { name: "t.done", data: { n: 5, who: "me" } }, trigger_id: trigger.id });
    expect(once.status, once.text).toBe(200);
    expect(once.body).toMatchObject({ events: 1, considered: 1, matched: 1, would_start: 0 });
    expect(once.body.data[0]).toMatchObject({
      verdict: "deduplicate",
      payload: { n: 5 },
      dedupe: { key: expect.stringContaining(trigger.id), held_by_job_id: expect.any(String) },
    });
    const miss = (await testing({ event: { name: "t.done", data: { n: 0 } } })).body.data[0];
    expect(miss).toMatchObject({
      trigger_id: trigger.id,
      matched: false,
      mismatch: "condition",
      verdict: null,
      parts: [
        { text: "event.n > 1", holds: false, detail: null },
        { text: "has(event.who)", holds: false, detail: null },
      ],
    });
    expect(await count()).toBe(before);
    expect((await testing({ event: { name: "t.done" }, trigger_id: trigger.id }, foreignKey)).status).toBe(404);
    expect((await testing({ event: { name: "t.done" } }, foreignKey)).body).toMatchObject({ considered: 0, data: [] });
  });

  test("a replay preview counts how many of the newest stored events match, also for a draft trigger", async () => {
    await publish({ events: [1, 2, 3, 4].map((n) => ({ name: "r.done", data: { n } })) });
    const draft = {
      event_name: "r.done",
      condition: "event.n >= 3",
      definition_key: "strict",
      payload_template: { n: "{{event.n}}" },
    };
    const replay = (await testing({ replay: 100, draft })).body;
    expect(replay).toMatchObject({ events: 4, considered: 4, matched: 2, would_start: 0 });
    expect(replay.data[0]).toMatchObject({ verdict: "fail", problems: [{ pointer: "/payload/provider_id" }] });
    const fitting = await testing({ replay: 100, draft: { ...draft, definition_key: "any" } });
    expect(fitting.body).toMatchObject({ matched: 2, would_start: 2 });
    expect(refusal(await testing({ replay: 1, draft: { ...draft, condition: "event.n +" } }))).toEqual([
      "/draft/condition",
    ]);
    expect(refusal(await testing({ replay: 101 }))).toEqual(["/replay"]);
    expect((await testing({})).status).toBe(422);
  });
});
