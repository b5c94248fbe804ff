import { afterAll, beforeAll, expect, test } from "vitest";
import { withTenant } from "@/lib/db";
import { cancelJob, enqueueJob, enqueueJobs, type TenantScope } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { applyAction } from "./apply-action";
import { CANCEL } from "./cancel-job";
import { changeAction } from "./change-jobs";

const database = await testDatabase();
const make = makeFactory(database);
let scope: TenantScope;
let definitionKey: string;
beforeAll(async () => {
  scope = await make.tenant();
  definitionKey = (await make.definition()).key;
});
afterAll(() => make.close());

const ROUNDS = 30;

test.each(["replace_payload", "reschedule"] as const)(
  "an enqueue with %s and parents does not deadlock with an action on many jobs",
  async (onConflict) => {
    const dedupe = { mode: "live", onConflict } as const;
    for (let round = 0; round < ROUNDS; round += 1) {
      const dedupeKey = `${onConflict}-${round}`;
      // The parents have lower ids than the holder, so locking the holder first would violate the lock order.
      const parents = await enqueueJobs(
        make.web,
        scope,
        Array.from({ length: 40 }, () => ({ definitionKey })),
      );
      const holder = await enqueueJob(make.web, scope, { definitionKey, dedupeKey });
      const jobIds = [...parents, holder].map((job) => job.jobId);
      const act = (one: typeof CANCEL | ReturnType<typeof changeAction>) =>
        withTenant(make.web, scope.tenantId, (tx) => applyAction(tx, scope, one as typeof CANCEL, { jobIds }));
      const dependsOn = parents.toReversed().map((job) => ({ jobId: job.jobId }));
      const done = await Promise.allSettled([
        enqueueJob(make.web, scope, { definitionKey, dedupeKey, dedupe, payload: { round }, dependsOn }),
        act(changeAction({ priority: 1 + (round % 50) })),
        enqueueJob(make.web, scope, { definitionKey, dedupeKey, dedupe, payload: { round }, dependsOn }),
        act(CANCEL),
      ]);
      expect(done.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []))).toEqual([]);
      await cancelJob(make.web, scope, holder.jobId).catch(() => undefined);
    }
  },
);
