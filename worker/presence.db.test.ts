import { afterAll, expect, test } from "vitest";
import { createLogger } from "@/lib/observability/log";
import { listWorkers } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { makeFactory } from "@/lib/testing/rows/factories";
import { Presence } from "./presence";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const log = createLogger({ process: "worker", level: "silent", format: "json" });

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

test("A-01 a draining worker shows how many jobs it still runs", async () => {
  let running = 3;
  const presence = new Presence(make.worker, log, { describe, runningCount: () => running });
  const seen = async () => {
    const [worker] = await listWorkers(make.platform);
    return [worker?.status, worker?.running_count];
  };
  await presence.start();
  presence.drain();
  await waitFor(async () => (await seen())[0] === "draining", { what: "the drain" });
  expect((await seen())[1]).toBe(3);
  running = 1;
  await waitFor(async () => (await seen())[1] === 1, { withinMs: 9000, what: "the new count" });
  expect((await seen())[0]).toBe("draining");
  await presence.stop();
  expect(await seen()).toEqual(["stopped", 0]);
});

test("OPS-03 a database that does not answer does not keep a worker from exiting", async () => {
  const silent = { ...make.worker, run: () => new Promise<never>(() => undefined) };
  const presence = new Presence(silent, log, { describe, runningCount: () => 0 });
  presence.drain();
  const began = performance.now();
  await presence.stop();
  expect(performance.now() - began).toBeLessThan(5000);
});
