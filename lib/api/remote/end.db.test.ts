import { randomUUID } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { complete, fail } from "./end";

const make = makeFactory(await testDatabase());
afterAll(() => make.close());

test("a worker without the lease is refused before its result or message is parsed", async () => {
  const { jobId } = await make.runningJob(await make.tenant());
  const context = { db: make.worker, holder: "remote:x:", changes: [], runtime: {} } as unknown as Parameters<
    typeof fail
  >[0];
  const unread = (field: string) => ({
    get [field](): never {
      throw new Error(`${field} was read`);
    },
  });
  for (const id of [jobId, randomUUID()]) {
    const params = { jobId: id };
    const completing = complete({
      ...context,
      params,
      body: Object.assign(unread("result"), { lease_no: 1 }),
    } as never);
    await expect(completing).rejects.toMatchObject({ code: "lease-lost" });
    const failing = fail({
      ...context,
      params,
      body: Object.assign(unread("message"), { lease_no: 1, outcome: "failed" }),
    } as never);
    await expect(failing).rejects.toMatchObject({ code: "lease-lost" });
  }
});
