import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  cancelJob,
  enqueueJob,
  enqueueJobs,
  expireJobs,
  getJob,
  type TenantScope,
  updateDefinition,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
let scope: TenantScope;
beforeAll(async () => {
  scope = await make.tenant();
});
afterAll(() => make.close());

const statusOf = async (jobId: string) => (await getJob(make.web, scope, jobId))?.status;

describe("enqueue", () => {
  test("Z-10 fifty parallel callers with one dedupe key create one job", async () => {
    const { key } = await make.definition();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => enqueueJob(make.web, scope, { definitionKey: key, dedupeKey: "race" })),
    );
    expect(new Set(answers.map((answer) => answer.jobId)).size).toBe(1);
    expect(answers.filter((answer) => !answer.deduplicated)).toHaveLength(1);
    await cancelJob(make.web, scope, answers[0]?.jobId ?? "");
  });

  test("LEASE-18 two bulks with the same keys in opposite order do not deadlock", async () => {
    const { key } = await make.definition();
    const jobs = Array.from({ length: 100 }, (_, n) => ({ definitionKey: key, dedupeKey: `bulk-${n}` }));
    const [one, two] = await Promise.all([
      enqueueJobs(make.web, scope, jobs),
      enqueueJobs(make.web, scope, [...jobs].reverse()),
    ]);
    expect(one?.map((e) => e.jobId)).toEqual([...(two ?? [])].reverse().map((e) => e.jobId));
  });

  test("a definition changed or disabled since it was read is noticed", async () => {
    const definition = await make.definition({ arg_schema: { type: "object" } });
    await enqueueJob(make.web, scope, { definitionKey: definition.key, payload: {} });
    const patch = { arg_schema: { type: "object", required: ["n"] } };
    await updateDefinition(make.platform, scope.actor, { id: definition.id, patch });
    await expect(enqueueJob(make.web, scope, { definitionKey: definition.key, payload: {} })).rejects.toMatchObject({
      code: "payload-invalid",
      problems: [{ pointer: "/payload/n" }],
    });
    await updateDefinition(make.platform, scope.actor, { id: definition.id, patch: { is_active: false } });
    await expect(
      enqueueJob(make.web, scope, { definitionKey: definition.key, payload: { n: 1 } }),
    ).rejects.toMatchObject({
      code: "definition-inactive",
    });
  });

  test("P-03 a job still waiting at its expires_at ends as expired", async () => {
    const job = await make.job(scope, { expiresAt: new Date(Date.now() + 60_000) });
    expect((await expireJobs(make.scheduler, { limit: 10 })).count).toBe(0);
    await database.moveClock(61_000);
    expect((await expireJobs(make.scheduler, { limit: 10 })).count).toBe(1);
    expect(await statusOf(job.id)).toBe("expired");
    await database.moveClock(0);
  });
});
