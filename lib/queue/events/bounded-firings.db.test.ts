import { afterAll, expect, test } from "vitest";
import { type TenantTransaction, withTenant } from "@/lib/db";
import { fanOutPending, publishEvents, type TenantScope } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { type ListenerFields, listener } from "@/lib/testing/rows/listener";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const definition = await make.definition({
  arg_schema: { type: "object", properties: { n: { type: "integer" } }, additionalProperties: true },
});
const listens = (scope: TenantScope, fields: Partial<ListenerFields>) =>
  listener(database, scope, {
    definitionId: definition.id,
    payloadTemplate: { n: "{{event.n}}", trigger: fields.label },
    ...fields,
  });
const happened = (n: unknown) => ({ name: "thing.happened", data: { n } });

/** Outcomes of a trigger's firings in the order of their events, for example `enqueued` or `skipped max_runs`. */
async function ends(triggerId: string): Promise<string[]> {
  const rows = await database.query<{ text: string }>(
    `select concat_ws(' ', outcome, reason) as text from app.trigger_firings where trigger_id = $1 order by event_id`,
    [triggerId],
  );
  return rows.map(({ text }) => text);
}

const standing = async (triggerId: string) =>
  (
    await database.query(
      `select t.run_count::int, t.status,
         (select count(*)::int from app.trigger_firings f where f.trigger_id = t.id and f.outcome = 'enqueued') as enqueued,
         (select count(*)::int from app.jobs j join app.trigger_firings f on f.job_id = j.id
            where f.trigger_id = t.id and f.outcome = 'enqueued') as jobs
       from app.job_triggers t where t.id = $1`,
      [triggerId],
    )
  )[0];

/** Counts the statements of a transaction; a savepoint sends two more. */
function counted(tx: TenantTransaction): { tx: TenantTransaction; count: () => number } {
  let count = 0;
  const run: TenantTransaction["run"] = (statement, values) => {
    count += 1;
    return tx.run(statement, values);
  };
  const savepoint: TenantTransaction["savepoint"] = (work) => {
    count += 2;
    return tx.savepoint(work);
  };
  return { tx: { ...tx, run, savepoint }, count: () => count };
}

test("the firings of a batch end like firings one after the other", async () => {
  const scope = await make.tenant();
  const two = await listens(scope, { label: "two", maxRuns: 2 });
  const one = await listens(scope, { label: "one", maxRuns: 1, dedupeKeyTemplate: "{{event.n}}" });
  const single = await listens(scope, { label: "single", overlapPolicy: "skip" });
  const queued = await listens(scope, { label: "queued", overlapPolicy: "queue_one", maxRuns: 2 });
  await publishEvents(make.web, scope, ["text", 1, 1, "text", 2, 2, 3].map(happened));
  const [failed, skipped, overlap] = ["failed payload", "skipped max_runs", "skipped overlap"];
  expect(await ends(two)).toEqual([failed, "enqueued", "deduplicated", failed, "enqueued", skipped, skipped]);
  expect(await ends(one)).toEqual([failed, "enqueued", ...Array.from({ length: 5 }, () => skipped)]);
  expect(await ends(single)).toEqual([failed, "enqueued", ...Array.from({ length: 5 }, () => overlap)]);
  expect(await ends(queued)).toEqual([failed, "enqueued", "deduplicated", failed, "enqueued", skipped, skipped]);
  const waits = await database.query(
    `select d.parent_id = first.job_id as waits_for_first from app.trigger_firings first, app.trigger_firings second
     join app.job_dependencies d on d.child_id = second.job_id
     where first.trigger_id = $1 and second.trigger_id = $1 and first.outcome = 'enqueued' and second.outcome = 'enqueued'
       and first.event_id < second.event_id`,
    [queued],
  );
  expect(waits).toEqual([{ waits_for_first: true }]);
});

test("a firing that starts no job leaves its run to the next one, for keys taken earlier or in the same batch", async () => {
  const scope = await make.tenant();
  await publishEvents(make.web, scope, [happened(0)]);
  const first = await listens(scope, { label: "a", dedupeKeyTemplate: "key-{{event.n}}", maxRuns: 1 });
  await publishEvents(make.web, scope, [happened(7)]);
  const second = await listens(scope, { label: "b", dedupeKeyTemplate: "key-{{event.n}}", maxRuns: 1 });
  await publishEvents(make.web, scope, [7, 7, 7, "text", 8, 8, 9].map(happened));
  expect(await ends(second)).toEqual([
    ...["deduplicated", "deduplicated", "deduplicated", "failed payload"],
    ...["enqueued", "skipped max_runs", "skipped max_runs"],
  ]);
  expect(await standing(first)).toEqual({ run_count: 1, status: "finished", enqueued: 1, jobs: 1 });
  expect(await standing(second)).toEqual({ run_count: 1, status: "finished", enqueued: 1, jobs: 1 });
});

test("max_runs is exact with concurrent publishers and schedulers, refused jobs and repeated keys", async () => {
  const scope = await make.tenant();
  const bounds = [1, 4, 7, 13];
  const triggers = await Promise.all(bounds.map((maxRuns) => listens(scope, { label: `max ${maxRuns}`, maxRuns })));
  await database.query(
    `insert into app.events (tenant_id, name, data, source, correlation_id, actor_kind, status)
     select $1, 'thing.happened', jsonb_build_object('n', n), 'app', 'c', 'system', 'pending' from generate_series(1, 4) n`,
    [scope.tenantId],
  );
  await Promise.all([
    ...[10, 20, 30].map((from) =>
      publishEvents(make.web, scope, [from, "text", from, from + 1, 1, from + 2].map(happened)),
    ),
    fanOutPending(make.web, scope.tenantId),
    fanOutPending(make.web, scope.tenantId),
  ]);
  await fanOutPending(make.web, scope.tenantId);
  const found = await Promise.all(triggers.map(standing));
  // The events have 13 distinct valid values.
  expect(found).toEqual(bounds.map((n) => ({ run_count: n, status: "finished", enqueued: n, jobs: n })));
});

test("the number of statements does not grow with the number of firings of bounded triggers", async () => {
  await database.query("insert into app.job_queues (name, is_active) values ('shut', false) on conflict do nothing");
  const statements = async (events: number, triggers: number) => {
    const scope = await make.tenant();
    for (let n = 0; n < triggers; n += 1) {
      await listens(scope, { label: `max ${n}`, maxRuns: 1000 });
      await listens(scope, { label: `waits ${n}`, overlapPolicy: "queue_one" });
      await listens(scope, { label: `refused ${n}`, maxRuns: 1000, queue: "shut" });
    }
    return withTenant(make.web, scope.tenantId, async (tx) => {
      const { tx: inside, count } = counted(tx);
      await publishEvents(
        inside,
        scope,
        Array.from({ length: events }, (_, n) => happened(n)),
      );
      return count();
    });
  };
  const few = await statements(2, 2);
  // One statement reads the texts of 16 triggers.
  expect(await statements(12, 5)).toBe(few);
});
