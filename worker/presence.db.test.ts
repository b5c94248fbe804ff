import { afterAll, expect, test } from "vitest";
import { createLogger } from "@/lib/observability/log";
import { listWorkers } from "@/lib/queue";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/factories";
import { waitFor } from "@/lib/testing/processes";
import { Presence } from "./presence";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const log = createLogger({ process: "worker", level: "silent", format: "json" });

test("A-01 a worker that drains shows how many jobs it still runs", async () => {
  let running = 3;
  const describe = () => ({
    workerId: "h:1:a",
    hostname: "h",
    pid: 1,
    version: "0",
    label: "h",
    queues: [],
    definitions: [],
    capacity: 5,
    isolation: "none",
  });
  const presence = new Presence(make.worker, log, { describe, runningCount: () => running });
  const seen = async () => {
    const [worker] = await listWorkers(make.platform);
    return [worker?.status, worker?.runningCount];
  };
  await presence.start();
  await presence.drain();
  expect(await seen()).toEqual(["draining", 3]);
  running = 1;
  await waitFor(async () => (await seen())[1] === 1, { withinMs: 9000, what: "the new count" });
  expect((await seen())[0]).toBe("draining");
  await presence.stop();
  expect(await seen()).toEqual(["stopped", 0]);
});
