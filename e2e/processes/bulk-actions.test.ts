import { afterAll, expect, test } from "vitest";
import { acceptBulkAction, enqueueJobs, getBulkAction } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { startProcess, waitFor } from "@/lib/testing/processes";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

const JOBS = 6000;
const ENQUEUED_AT_ONCE = 1000;

test("after kill -9 of its scheduler a bulk action continues under the next leader and handles each job once", async () => {
  const { tenantId } = await make.tenant();
  const person = await accountsIn(database).user({ roles: { [tenantId]: "member" } });
  const scope = { tenantId, actor: { kind: "user", id: person.id, userId: person.id } } as const;
  const { key: definitionKey } = await make.definition();
  for (let made = 0; made < JOBS; made += ENQUEUED_AT_ONCE)
    await enqueueJobs(
      make.web,
      scope,
      Array.from({ length: ENQUEUED_AT_ONCE }, () => ({ definitionKey })),
    );
  const { id } = await acceptBulkAction(make.web, scope, { action: "cancel", target: { filter: {} } });
  const read = async () => {
    const action = await getBulkAction(make.web, scope, id);
    if (!action) throw new Error("the action is gone");
    return action;
  };
  const first = await startProcess("scheduler", { database });
  await waitFor(async () => (await read()).done > 0, { withinMs: 30_000, what: "the first chunk" });
  first.signal("SIGKILL");
  await first.exited;
  const { done } = await read();
  await startProcess("scheduler", { database });
  await waitFor(async () => (await read()).finished_at !== null, { withinMs: 60_000, what: "the end of the action" });
  expect(done).toBeLessThanOrEqual(JOBS);
  expect(await read()).toMatchObject({ status: "done", done: JOBS, skipped: 0, failed: 0 });
  const [audited] = await database.query(
    "select count(*)::int as n, count(distinct job_id)::int as jobs from app.job_audit",
  );
  expect(audited).toEqual({ n: JOBS, jobs: JOBS });
});
