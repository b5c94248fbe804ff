import { afterAll, expect, test } from "vitest";
import { createLogger } from "@/lib/observability/log";
import { type ClaimedJob, settleAttempts, type TenantScope } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { Claimer } from "./claimer";
import { Supported } from "./supported";

const make = makeFactory(await testDatabase());
afterAll(() => make.close());
const wanted = { queues: undefined, definitions: undefined, bands: undefined };

test("deliveries of a tenant beyond its half wait in the queue, and delay no other jobs", async () => {
  const [acme, globex] = [await make.tenant(), await make.tenant()];
  const { key: webhook } = await make.definition({ executor: "webhook" });
  const { key: command } = await make.definition();
  const served = await Supported.read(make.worker, wanted, { hasHandler: () => false, hasCommand: () => true });
  let claimed: ClaimedJob[] = [];
  let polls = 0;
  // Deliveries have left their slots.
  const claimer = new Claimer({
    db: make.worker,
    log: createLogger({ process: "worker", level: "silent", format: "json" }),
    workerId: "the-claimer",
    random: () => 0.5,
    capacity: () => ({ free: 2, ahead: 0 }),
    mostDeliveries: 8,
    isQuick: () => false,
    served: () => served,
    numbers: { numbers: () => 1, unanswered: () => undefined },
    onClaimed: (jobs) => void claimed.push(...jobs),
    onPolled: () => {
      polls += 1;
    },
  });
  const enqueue = async (scope: TenantScope, definitionKey: string, count: number) => {
    for (let n = 0; n < count; n += 1) await make.job(scope, { definitionKey });
    claimer.pollSoon();
  };
  const countOf = ({ tenantId }: TenantScope) => claimed.filter((job) => job.tenantId === tenantId).length;
  const afterPolls = async () => {
    const since = polls;
    await waitFor(() => polls > since + 1);
  };
  claimer.start();

  await enqueue(acme, webhook, 20);
  await waitFor(() => countOf(acme) === 4);
  await afterPolls();
  expect(countOf(acme)).toBe(4);
  await enqueue(globex, command, 5);
  await waitFor(() => countOf(globex) === 5);
  await enqueue(globex, webhook, 10);
  await waitFor(() => countOf(globex) === 7);
  await afterPolls();
  expect([countOf(acme), countOf(globex)]).toEqual([4, 7]);

  const ended = claimed.at(-1);
  if (!ended) throw new Error("no job was claimed");
  await settleAttempts(make.worker, [succeeded(ended)]);
  claimed = claimed.filter((job) => job !== ended);
  claimer.freed({ job: ended, seconds: 0.01 });
  expect(countOf(globex)).toBe(6);
  await waitFor(() => countOf(globex) === 7);
  await claimer.stop();
});
