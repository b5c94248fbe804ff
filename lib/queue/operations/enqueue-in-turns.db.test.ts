import { afterAll, expect, test } from "vitest";
import { enqueueJobs } from "@/lib/queue";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/factories";
import { longestTurn } from "@/lib/testing/longest-turn";

const make = makeFactory(await testDatabase());
afterAll(() => make.close());

test("checking a batch of large payloads lets others have turns between the jobs", async () => {
  const scope = await make.tenant();
  const items = { items: { anyOf: [...Array.from({ length: 60 }, () => ({ type: "string" })), { type: "number" }] } };
  const { key: definitionKey } = await make.definition({ argSchema: { properties: { list: items } } });
  const payload = { list: Array.from({ length: 4000 }, (_, n) => n) };
  const jobs = Array.from({ length: 20 }, (_, n) => ({ definitionKey, payload, priority: n + 1 }));
  await enqueueJobs(make.web, scope, jobs.slice(0, 1));
  const { result, longestMs, totalMs } = await longestTurn(() => enqueueJobs(make.web, scope, jobs, { inTurns: true }));
  expect(result).toHaveLength(20);
  expect(longestMs).toBeLessThan(totalMs / 3);
});
