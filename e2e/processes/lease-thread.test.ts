import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { waitFor } from "@/lib/testing/processes";
import { whenDone } from "@/lib/testing/when-done";
import { openProxy } from "../chaos/proxy";
import { openStage } from "./stage";

test("a worker claims nothing until its lease thread is connected, so a short lease does not expire at its start", async () => {
  const stage = await openStage();
  const line = await openProxy(stage.database.adminUrl);
  whenDone(() => line.close());
  line.hold("leasehold leases");
  const jobId = await stage.enqueue("quick");
  const worker = stage.startWorker({ DATABASE_DIRECT_URL: line.url });
  await waitFor(async () => (await stage.database.query("select 1 from app.job_workers")).length > 0, {
    what: "the worker's registration",
  });
  await sleep(1500);
  expect((await stage.read(jobId)).status).toBe("queued");
  line.hold(null);
  await worker;
  expect((await stage.settled(jobId)).status).toBe("succeeded");
});
