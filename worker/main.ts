import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { handlers } from "@/jobs";
import { type Database, listen, openDatabase } from "@/lib/db";
import { dataDir } from "@/lib/db/embedded/index.mjs";
import { orExit } from "@/lib/env/read";
import { loadWorkerEnv } from "@/lib/env/worker";
import { loadCommandRegistry } from "@/lib/execution";
import { createLogger } from "@/lib/observability/log";
import { announceReady, installShutdown, startHealthServer, VERSION, waitForSchema } from "@/lib/process";
import { CHANNELS, type PolledWork } from "@/lib/queue";
import { parseBands } from "./bands";
import { Claimer } from "./claimer";
import { Leases } from "./leases";
import { Presence } from "./presence";
import { Runner } from "./runner";
import { Served, type Wanted } from "./served";
import { Settler } from "./settler";
import { standInForLeader } from "./stand-in";

const env = orExit(loadWorkerEnv);
const log = createLogger({ process: "worker", level: env.logLevel, format: env.logFormat });
const workerId = `${hostname()}:${process.pid}:${randomUUID()}`;
const random = Math.random;

async function main(): Promise<void> {
  const shutdown = installShutdown({ log, graceMs: env.shutdownGraceSeconds * 1000 });
  const worker = open("worker", env.databaseUrls.worker, 8);
  const web = open("web", env.databaseUrls.web, Math.min(20, env.concurrency + 1));
  shutdown.onDrain(() => Promise.all([worker.close(), web.close()]).then(() => undefined));
  const registry = await loadCommandRegistry(env.commandsFile, { sharedFolder: dataDir(env.home) });
  await waitForSchema(worker, { log, signal: shutdown.signal });
  if (shutdown.signal.aborted) return;

  const wanted: Wanted = { queues: env.queues, definitions: env.definitions, bands: parseBands(env.bands) };
  const known = {
    hasHandler: (key: string) => handlers.has(key),
    hasCommand: (key: string) => registry.keys.includes(key),
  };
  let served = await Served.read(worker, wanted, known);
  let servedVersion: number | undefined;
  const leases = new Leases(env.databaseUrls.listen, { log, onDied: () => shutdown.begin("no lease thread", 1) });
  const settler = new Settler(worker, log, random);
  const tools = {
    worker,
    web,
    registry,
    handlers,
    providerRoots: env.providerRoots,
    maxTimeoutSeconds: env.maxTimeoutSeconds,
  };
  const runner = new Runner({
    db: worker,
    log,
    leases,
    settler,
    tools,
    logMaxBytes: env.logMaxBytes,
    random,
    onFree: () => claimer.freed(),
  });
  const onPolled = async ({ definitionsVersion, leaderAgeSeconds, cancelRequested }: PolledWork) => {
    runner.cancel(cancelRequested);
    if (definitionsVersion !== servedVersion) served = await Served.read(worker, wanted, known);
    servedVersion = definitionsVersion;
    await standInForLeader(worker, { leaderAgeSeconds, random, log });
  };
  const claimer: Claimer = new Claimer({
    db: worker,
    log,
    workerId,
    random,
    free: () => env.concurrency - runner.count,
    served: () => served,
    onClaimed: (jobs) => runner.take(jobs),
    onPolled,
  });
  const health = await startHealthServer({
    port: env.healthPort,
    host: env.healthHost,
    ready: () => isReady(claimer),
  });
  const presence = new Presence(
    worker,
    log,
    () => ({
      workerId,
      hostname: hostname(),
      pid: process.pid,
      version: VERSION,
      label: env.label,
      queues: served.queues,
      definitions: served.definitions,
      capacity: env.concurrency,
      healthPort: health.port,
      isolation: registry.isolation,
    }),
    () => runner.count,
  );
  await presence.start();
  const listener = listen({
    url: env.databaseUrls.listen,
    channels: [CHANNELS.work, CHANNELS.cancel],
    applicationName: "leasehold worker listener",
    onNotify: (channel, payload) =>
      channel === CHANNELS.work && payload !== "*" ? claimer.wake(payload.split(",").map(Number)) : claimer.pollSoon(),
    onReady: () => claimer.pollSoon(),
    onError: (error) => log.warn({ err: error }, "the wake-up connection broke"),
  });
  shutdown.onForce(() => runner.killAll());
  shutdown.onDrain(async () => {
    await claimer.stop();
    await Promise.all([presence.drain(), listener.close()]);
    await runner.drain(graceForRunning(), (running, seconds) => log.info({ running, seconds }, "still running"));
    await presence.stop();
    await leases.close();
    await health.close();
  });
  claimer.start();
  log.info(
    {
      version: VERSION,
      worker_id: workerId,
      queues: served.queues.length > 0 ? served.queues : "all",
      definitions: served.definitions,
      capacity: env.concurrency,
      health_port: health.port,
      isolation: registry.isolation,
      commands_sha256: registry.sha256,
    },
    "worker is ready",
  );
  announceReady({ port: health.port, workerId });
}

function open(role: "worker" | "web", url: string, max: number): Database {
  const onError = (error: Error) => log.warn({ err: error }, "an idle database connection broke");
  return openDatabase({ url, role, max, applicationName: "leasehold worker", onError });
}

/** Ready while polls get through: an outage longer than that shows. */
const READY_WITHIN_MS = 5000;
const isReady = (claimer: Claimer): boolean => performance.now() - claimer.polledAt < READY_WITHIN_MS;

/** Left of the grace period for telling jobs to stop, their own grace, and recording that they were given back. */
function graceForRunning(): number {
  const graceMs = env.shutdownGraceSeconds * 1000;
  return Math.max(0, graceMs - Math.min(10_000, graceMs / 2));
}

main().catch((error: unknown) => {
  log.fatal({ err: error }, error instanceof Error ? error.message : "the worker cannot start");
  process.exit(1);
});
