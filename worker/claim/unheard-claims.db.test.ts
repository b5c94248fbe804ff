import { afterAll, expect, test } from "vitest";
import { createLogger } from "@/lib/observability/log";
import { claimJobs, getJob, listAttempts, pollWork } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { Settler } from "../settle/settler";
import { UnheardClaims } from "./unheard-claims";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
afterAll(() => make.close());

const WORKER = "hard-of-hearing";
const log = createLogger({ process: "worker", level: "silent", format: "json" });

async function claim(count: number, firstNo: number): Promise<string[]> {
  for (let n = 0; n < count; n += 1) await make.job(scope);
  const { lanes } = await pollWork(make.worker, { workerId: WORKER, afterLane: 0, maxLanes: 256 });
  const asked = lanes.map(({ laneNo, limited }) => ({ laneNo, limited, limit: count, leaseSeconds: 30 }));
  const request = { workerId: WORKER, lanes: asked, limit: count, startAtOnce: 1, firstNo };
  return (await claimJobs(make.worker, request)).map(({ jobId }) => jobId);
}

test("LEASE-31 jobs of a claim whose answer was lost are released unspent, even if begun with the claim; other jobs are not", async () => {
  const unheard = new UnheardClaims({
    db: make.worker,
    log,
    workerId: WORKER,
    settler: new Settler(make.worker, log, Math.random),
  });
  const before = await claim(2, 1);
  const lost = await claim(3, 3);
  const after = await claim(2, 6);
  await unheard.giveBack();
  unheard.failed([3, 5]);
  await unheard.giveBack();
  for (const id of lost) {
    const job = await getJob(make.web, scope, id);
    const attempts = await listAttempts(make.web, scope, id);
    expect([job?.status, job?.attempt_count, attempts?.map(({ status }) => status)]).toEqual([
      "queued",
      0,
      ["released"],
    ]);
  }
  for (const id of [...before, ...after]) expect((await getJob(make.web, scope, id))?.status).toBe("running");
});
