import { afterAll, beforeEach, expect, test } from "vitest";
import { cancelJob, changeJob, enqueueJobs, promoteDueJobs, retryJob, summarizeJobs } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
beforeEach(async () => {
  await database.query("truncate app.live_jobs");
  await database.moveClock(0);
});

const HOUR = 3_600_000;

/** The oldest wait of the summary, in whole minutes. */
async function oldestMinutes(scope: Parameters<typeof summarizeJobs>[1]): Promise<number | null> {
  const { oldest_queued_age_seconds: age } = await summarizeJobs(make.web, scope);
  return age === null ? null : Math.round(age / 60);
}

test("the oldest wait counts from when a job became ready, not from the lowest id's enqueue", async () => {
  const own = await make.tenant();
  const { key } = await make.definition();
  const soon = new Date(Date.now() + 2 * HOUR);
  await enqueueJobs(make.web, own, [{ definitionKey: key, scheduledFor: soon }, { definitionKey: key }]);
  expect(await oldestMinutes(own)).toBe(0);
  await database.moveClock(2 * HOUR + 600_000);
  await promoteDueJobs(make.scheduler, { limit: 100 });
  expect(await oldestMinutes(own)).toBe(130);
});

test("a retried job waits from its retry, and a job of another priority from its own time", async () => {
  const own = await make.tenant();
  const { key } = await make.definition();
  const [old] = await enqueueJobs(make.web, own, [{ definitionKey: key }]);
  await cancelJob(make.web, own, old?.jobId ?? "");
  await database.moveClock(HOUR);
  await enqueueJobs(make.web, own, [{ definitionKey: key, priority: 150 }]);
  await database.moveClock(HOUR + 600_000);
  await retryJob(make.web, own, { jobId: old?.jobId ?? "" });
  await enqueueJobs(make.web, own, [{ definitionKey: key, priority: 51 }]);
  await database.moveClock(HOUR + 1_200_000);
  expect(await oldestMinutes(own)).toBe(20);
});

test("it is found behind a thousand lower ids that are not ready, and is null when no job waits", async () => {
  const [own, other] = [await make.tenant(), await make.tenant()];
  const { key } = await make.definition();
  const scheduledFor = new Date(Date.now() + 100 * HOUR);
  await enqueueJobs(
    make.web,
    own,
    Array.from({ length: 1500 }, () => ({ definitionKey: key, scheduledFor })),
  );
  expect(await oldestMinutes(own)).toBeNull();
  const [waiting] = await enqueueJobs(make.web, own, [{ definitionKey: key }]);
  await database.moveClock(600_000);
  await enqueueJobs(
    make.web,
    own,
    Array.from({ length: 50 }, () => ({ definitionKey: key })),
  );
  await database.moveClock(1_200_000);
  expect(await oldestMinutes(own)).toBe(20);
  expect(await oldestMinutes(other)).toBeNull();
  await changeJob(make.web, own, { jobId: waiting?.jobId ?? "", scheduled_for: scheduledFor.toISOString() });
  expect(await oldestMinutes(own)).toBe(10);
});
