import { afterAll, expect, test } from "vitest";
import { cancelJob, enqueueJob, retryJob } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

test("an edited retry has the greater chain depth of the old job and the requesting job", async () => {
  const own = await make.tenant();
  const { key: definitionKey } = await make.definition();
  for (const [old, caller, expected] of [
    [0, undefined, 0],
    [3, undefined, 3],
    [3, 5, 5],
    [5, 2, 5],
  ] as const) {
    const { jobId } = await enqueueJob(make.web, own, { definitionKey, chainDepth: old });
    await cancelJob(make.web, own, jobId);
    const chain = caller === undefined ? {} : { chainDepth: caller };
    const { job } = await retryJob(make.web, own, { jobId, payload: { edited: true }, ...chain });
    const rows = await database.query("select chain_depth, retried_from_id from app.jobs where id = $1", [job.id]);
    expect(rows).toEqual([{ chain_depth: expected, retried_from_id: jobId }]);
  }
});
