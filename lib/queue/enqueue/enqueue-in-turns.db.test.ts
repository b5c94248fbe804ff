import { afterAll, expect, test } from "vitest";
import { handOut } from "@/lib/api/remote/hand-out";
import { startWork } from "@/lib/async/abandon";
import { withTenant } from "@/lib/db";
import { type ClaimedJob, enqueueJobs, type NewJob } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { shareOfLongestTurn } from "@/lib/testing/measure/longest-turn";
import { makeFactory } from "@/lib/testing/rows/factories";
import { enqueueEach } from "./enqueue-each";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

/** A schema whose check takes a few milliseconds. */
const SLOW = { items: { anyOf: [...Array.from({ length: 60 }, () => ({ type: "string" })), { type: "number" }] } };
const payload = { list: Array.from({ length: 3000 }, (_, n) => n) };

/** Largest share of the whole time that one turn may take; a batch in one turn takes nearly all of it. */
const MOST = 1 / 3;

async function slowJobs(): Promise<readonly NewJob[]> {
  const { key } = await make.definition({ arg_schema: { properties: { list: SLOW } } });
  return Array.from({ length: 20 }, (_, n) => ({ definitionKey: key, payload, priority: n + 1 }));
}

test("checking a batch of large payloads yields the event loop between the jobs", async () => {
  const scope = await make.tenant();
  const jobs = await slowJobs();
  await enqueueJobs(make.web, scope, jobs.slice(0, 1));
  const enqueue = () => enqueueJobs(make.web, scope, jobs, { inTurns: true });
  expect(await shareOfLongestTurn(enqueue, MOST)).toBeLessThan(MOST);
});

test("checking the jobs that triggers start yields the event loop between the jobs", async () => {
  const scope = await make.tenant();
  const jobs = await slowJobs();
  await enqueueJobs(make.web, scope, jobs.slice(0, 1));
  const enqueue = () => withTenant(make.web, scope.tenantId, (tx) => enqueueEach(tx, scope, jobs));
  expect(await shareOfLongestTurn(enqueue, MOST)).toBeLessThan(MOST);
});

test("a transaction that is abandoned between the jobs of a batch stores nothing", async () => {
  const scope = await make.tenant();
  const jobs = await slowJobs();
  const late = new Error("too late");
  const { result, abandon } = startWork(() =>
    withTenant(make.web, scope.tenantId, async (tx) => {
      await enqueueJobs(tx, scope, jobs.slice(0, 1));
      abandon(late);
      await enqueueJobs(tx, scope, jobs, { inTurns: true });
    }),
  );
  await expect(result).rejects.toBe(late);
  const stored = await database.query("select id from app.jobs where tenant_id = $1", [scope.tenantId]);
  expect(stored).toEqual([]);
});

test("checking the jobs of a remote worker yields the event loop between the jobs", async () => {
  const { id: definitionId, version: definitionVersion } = await make.definition({
    executor: "remote",
    arg_schema: { properties: { list: SLOW } },
  });
  const now = new Date();
  const about = { definitionId, definitionVersion, payload, claimedAt: now, leaseSeconds: 30, expiresInMs: null };
  const jobs = Array.from({ length: 20 }, () => about as ClaimedJob);
  const hand = () => handOut(make.worker, jobs, { maxTimeoutSeconds: 60, since: performance.now() });
  expect((await hand()).sent).toHaveLength(20);
  expect(await shareOfLongestTurn(hand, MOST)).toBeLessThan(MOST);
});
