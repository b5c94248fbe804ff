import { afterAll, expect, test } from "vitest";
import { getEvent, getJob, publishEvent, replayEvent, type TenantScope } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { type ListenerFields, listener } from "@/lib/testing/rows/listener";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const definition = await make.definition();
const listens = (scope: TenantScope, fields: Partial<ListenerFields> = {}) =>
  listener(database, scope, { definitionId: definition.id, ...fields });
const publish = (scope: TenantScope, depth = 0) =>
  publishEvent(make.web, scope, { name: "thing.happened", data: { n: 7 }, producerId: "order-7", depth });
const audit = (eventId: string) =>
  database.query(
    "select action, actor_kind, actor_id, request_id, reason from app.job_audit where event_id = $1 order by id",
    [eventId],
  );

test("publishing returns the created jobs, and a repeat returns the same jobs", async () => {
  const scope = await make.tenant();
  await listens(scope, { payloadTemplate: { a: 1 } });
  await listens(scope, { payloadTemplate: { b: 1 } });
  const event = await publish(scope);
  expect(event.job_ids).toHaveLength(2);
  for (const id of event.job_ids) expect((await getJob(make.web, scope, id))?.source_ref).toBe(event.id);
  expect(await publish(scope)).toMatchObject({ duplicate: true, job_ids: event.job_ids });
});

test("a replay fires the triggers that match now with the original event, and is recorded", async () => {
  const actor = { kind: "system", id: null, userId: null, requestId: "req-1" } as const;
  const scope = { ...(await make.tenant()), actor };
  const event = await publish(scope);
  expect(event).toMatchObject({ reason: "no_trigger", job_ids: [] });
  const payloadTemplate = {
    n: "{{event.n}}",
    id: "{{meta.id}}",
    at: "{{meta.received_at}}",
    by: "{{meta.producer_id}}",
  };
  await listens(scope, { payloadTemplate });
  await listens(scope, { condition: "event.n > 100" });
  const replayed = await replayEvent(make.web, scope, { eventId: event.id });
  expect(replayed).toMatchObject({ considered: 2, matched: 1, started: 1, reason: null });
  const job = await getJob(make.web, scope, replayed.job_ids[0] ?? "");
  expect(job).toMatchObject({
    payload: { n: 7, id: event.id, at: event.received_at, by: "order-7" },
    source: "event",
    source_ref: event.id,
    correlation_id: event.id,
  });
  const shown = await getEvent(make.web, scope, event.id);
  expect(shown).toMatchObject({
    considered: 2,
    matched: 1,
    started: 1,
    reason: null,
    misses: [{ reason: "condition" }],
  });
  const detail = "triggers matched: 1 of 2, jobs started: 1";
  expect(shown?.replays).toEqual([{ at: expect.any(Date), actor_kind: "system", actor: null, detail }]);
  expect(await audit(event.id)).toEqual([
    { action: "event.replay", actor_kind: "system", actor_id: null, request_id: "req-1", reason: detail },
  ]);
});

test("a replay creates no job while its dedupe key is taken, and does after the window", async () => {
  const scope = await make.tenant();
  await listens(scope, { payloadTemplate: { n: "{{event.n}}" } });
  const event = await publish(scope);
  const outcomes = async () => (await getEvent(make.web, scope, event.id))?.firings.map(({ outcome }) => outcome);
  const again = () => replayEvent(make.web, scope, { eventId: event.id });
  expect(await again()).toMatchObject({ matched: 1, started: 0, job_ids: [] });
  expect(await outcomes()).toEqual(["enqueued", "deduplicated"]);
  const over = "update app.dedupe_keys set live = false, held_until = app.now() - interval '1 s' where tenant_id = $1";
  await database.query(over, [scope.tenantId]);
  expect(await again()).toMatchObject({ matched: 1, started: 1 });
  expect(await outcomes()).toEqual(["enqueued", "deduplicated", "enqueued"]);
  expect(await getEvent(make.web, scope, event.id)).toMatchObject({ matched: 3, started: 2 });
  expect(await audit(event.id)).toHaveLength(2);
});

test("a replay requested by a job has that job's depth, so replays that cause each other end", async () => {
  const scope = await make.tenant();
  await listens(scope, { payloadTemplate: { n: 1 }, dedupeWindowSeconds: 0 });
  const { id: eventId } = await publish(scope, 2);
  const at = (chainDepth: number) => replayEvent(make.web, scope, { eventId, chainDepth });
  const [jobId = ""] = (await at(0)).job_ids;
  const [made = ""] = (await at(5)).job_ids;
  const depths = await database.query(
    "select chain_depth from app.jobs where id = any ($1::uuid[]) order by chain_depth",
    [[jobId, made]],
  );
  expect(depths).toEqual([{ chain_depth: 3 }, { chain_depth: 6 }]);
  expect(await at(8)).toMatchObject({ started: 0, reason: "loop" });
});

test("a pending event, an absent one and another tenant's cannot be replayed, and no record is kept", async () => {
  const [scope, other] = [await make.tenant(), await make.tenant()];
  const { id: eventId } = await publish(scope);
  const replay = (as: TenantScope, id = eventId) => replayEvent(make.web, as, { eventId: id });
  await expect(replay(other)).rejects.toMatchObject({ code: "not-found" });
  await expect(replay(scope, "01890000-0000-7000-8000-000000000000")).rejects.toMatchObject({ code: "not-found" });
  await database.query("update app.events set status = 'pending' where id = $1", [eventId]);
  await expect(replay(scope)).rejects.toMatchObject({ code: "state-conflict" });
  expect(await audit(eventId)).toEqual([]);
});
