import { afterAll, expect, test } from "vitest";
import { type TenantTransaction, withTenant } from "@/lib/db";
import { enqueueJobs, type NewJob, QueueError } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { enqueueEach } from "./enqueue-each";

const make = makeFactory(await testDatabase());
const scope = await make.tenant();
afterAll(() => make.close());

/** Wraps a transaction and records how many statements were in flight at once. */
function watched(tx: TenantTransaction): { tx: TenantTransaction; most: () => number } {
  let [now, most] = [0, 0];
  const run: TenantTransaction["run"] = async (statement, values) => {
    now += 1;
    most = Math.max(most, now);
    try {
      return await tx.run(statement, values);
    } finally {
      now -= 1;
    }
  };
  return { tx: { ...tx, run }, most: () => most };
}

const jobsOfNewKinds = (): Promise<NewJob[]> =>
  Promise.all(
    [1, 2, 3].map(async () => ({
      definitionKey: (await make.definition({ arg_schema: { type: "object", required: ["n"] } })).key,
      payload: { n: 1 },
    })),
  );

test("in a transaction, jobs of definitions that are not cached are enqueued with one statement at a time", async () => {
  const jobs = await jobsOfNewKinds();
  const refused = [...jobs.map((job) => ({ ...job, payload: {} })), ...(await jobsOfNewKinds())];
  await withTenant(make.web, scope.tenantId, async (tx) => {
    const { tx: inside, most } = watched(tx);
    expect(await enqueueJobs(inside, scope, jobs)).toHaveLength(3);
    const answers = await enqueueEach(inside, scope, refused);
    expect(answers.map((answer) => answer instanceof QueueError)).toEqual([true, true, true, false, false, false]);
    expect(most()).toBe(1);
  });
});
