import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { waitFor } from "@/lib/testing/processes";
import { nothingLeftOf, openStage, type Stage } from "./stage";

const WINDOW_MS = 30_000;
const MOST_A_MINUTE = 70;

// The tests wait at the same time, each in its own database.
const [lonely, leaderless, idle] = [await openStage(), await openStage(), await openStage()];

test.concurrent("a worker without a scheduler promotes due jobs and rescues expired leases", async () => {
  const stage = lonely;
  const first = await stage.startWorker();
  const lost = await stage.act({ run_ms: 60_000, from_attempt: 2, then_ms: 10 });
  await stage.running(lost);
  first.signal("SIGKILL");
  await first.exited;
  await nothingLeftOf(lost);
  const worker = await stage.startWorker();
  const dueAt = new Date(Date.now() + 2000);
  const due = await stage.enqueue("quick", {}, { scheduledFor: dueAt });
  const done = await stage.settled(due);
  expect(done.status).toBe("succeeded");
  const lateness = Date.parse(done.started_at ?? "") - dueAt.getTime();
  expect(lateness).toBeGreaterThanOrEqual(0);
  expect(lateness).toBeLessThan(3000);
  expect((await stage.settled(lost)).status).toBe("succeeded");
  expect(await stage.statuses(lost)).toEqual(["worker_lost", "succeeded"]);
  const [leader] = await stage.database.query("select last_seen_at from app.leader");
  expect(leader?.last_seen_at).toBeNull();
  await worker.stop();
});

test.concurrent("workers stand in for a leader whose heartbeat stopped", async () => {
  const stage = leaderless;
  const scheduler = await stage.startScheduler();
  await waitFor(() => scheduler.output().includes('"became leader"'), { what: "a leader" });
  scheduler.signal("SIGKILL");
  await scheduler.exited;
  const worker = await stage.startWorker();
  const due = await stage.enqueue("quick", {}, { scheduledFor: new Date(Date.now() + 500) });
  expect((await stage.settled(due)).status).toBe("succeeded");
  await worker.stop();
});

test.concurrent("an idle worker beside a live leader makes at most 70 statements a minute", {
  timeout: 180_000,
}, async () => {
  const stage = idle;
  await stage.database.query("create extension if not exists pg_stat_statements");
  await stage.startScheduler();
  await stage.startWorker();
  // The worker has run a job before it idles, so that all of its parts have started.
  expect((await stage.settled(await stage.enqueue("quick"))).status).toBe("succeeded");
  await sleep(3000);
  const before = await statements(stage);
  await sleep(WINDOW_MS);
  const after = await statements(stage);
  const made = [...after]
    .map(([text, calls]) => [text, calls - (before.get(text) ?? 0)] as const)
    .filter(([, n]) => n > 0);
  const aMinute = (made.reduce((sum, [, n]) => sum + n, 0) * 60_000) / WINDOW_MS;
  console.info(`an idle worker makes ${aMinute} statements a minute`);
  expect(aMinute, JSON.stringify(made)).toBeLessThanOrEqual(MOST_A_MINUTE);
  expect(aMinute).toBeGreaterThan(0);
});

/** Returns the calls of a worker process in this database, by statement. */
async function statements(stage: Stage): Promise<Map<string, number>> {
  const rows = await stage.database.query<{ text: string; calls: number }>(
    `select left(query, 80) as text, sum(calls)::int as calls from pg_stat_statements
     where dbid = (select oid from pg_database where datname = current_database())
       and userid in (select oid from pg_roles where rolname in ('leasehold_worker', 'leasehold_web'))
     group by 1`,
  );
  return new Map(rows.map(({ text, calls }) => [text, calls]));
}
