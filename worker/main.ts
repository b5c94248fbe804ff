/**
 * The worker process: claims jobs, runs them, and records how they ended. Start with `WorkerService` (service.ts).
 *
 * A job passes through four folders: `claim` takes it from the queue under a lease, `lease` renews the lease, `run`
 * executes the attempt, and `settle` stores its end. `quarantine` runs attempts that may have crashed a worker. An
 * attempt whose lease is lost is stopped, and its result is dropped. On SIGTERM the worker drains: running jobs may
 * finish within the grace period, and the rest are given back without costing an attempt.
 */

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setFlagsFromString } from "node:v8";
import { handlers } from "@/jobs";
import { type Database, type OpenOptions, openDatabase } from "@/lib/db";
import { orExit } from "@/lib/env/read";
import { loadWorkerEnv } from "@/lib/env/worker";
import type { CommandRegistry } from "@/lib/execution";
import { createLogger } from "@/lib/observability/log";
import {
  announceReady,
  DirectConnection,
  exitIfStartFails,
  installShutdown,
  misfit,
  type Needs,
  type Shutdown,
  TZ_VERSION,
  VERSION,
} from "@/lib/process";
import { startHealth } from "@/lib/process/start-health";
import type { WorkerRegistration } from "@/lib/queue/worker";
import { dataKeyCheck } from "@/lib/tenancy/data-key";
import { watchMemory } from "./memory-watch";
import { Presence } from "./presence";
import { OVER_MEMORY_LIMIT } from "./quarantine/quarantine-protocol";
import { commandRegistry } from "./run/command-registry";
import { WARM_CONNECTIONS, WorkerService } from "./service";
import { within } from "./within";

// Jobs pass through many small functions. Inlining them costs more compile time, on other threads of the same
// processors, than it saves: `npm run bench -- throughput` gained 7 % with a backlog of 30,000 jobs and 2 % with
// 100,000. The flags also apply to handlers in this process, whose heavy computation is one loop or a few.
setFlagsFromString("--max-inlined-bytecode-size=150");
setFlagsFromString("--max-inlined-bytecode-size-cumulative=300");

const env = orExit(loadWorkerEnv);
const log = createLogger({ process: "worker", level: env.logLevel, format: env.logFormat });
const workerId = `${hostname()}:${process.pid}:${randomUUID()}`;
const POOL = 8;
const WEB_POOL_MAX = 20;
/** How long a worker that is stopped while it registers waits for the answer. */
const REGISTERED_WITHIN_MS = 3000;

/** How long a stopping worker still removes the working folders of its jobs. */
const FOLDERS_REMOVED_WITHIN_MS = 1000;

const PROCESS = { hostname: hostname(), pid: process.pid, version: VERSION, tzVersion: TZ_VERSION };

async function main(shutdown: Shutdown): Promise<void> {
  const worker = open("worker", env.databaseUrls.worker, { max: POOL, keep: WARM_CONNECTIONS });
  const web = open("web", env.databaseUrls.web, { max: Math.min(WEB_POOL_MAX, env.concurrency + 1) });
  shutdown.onDrain(async () => void (await Promise.all([worker.close(), web.close()])));
  const registry = await commandRegistry(env, log);
  shutdown.onDrain(() => registry.preparation.stop(FOLDERS_REMOVED_WITHIN_MS));
  const direct = new DirectConnection(env.databaseUrls.listen);
  const needs: Needs = {
    pools: [worker, web],
    direct,
    works: worker,
    dataKey: { check: dataKeyCheck(env.dataKey), worker },
  };
  const health = await startHealth(needs, { port: env.healthPort, host: env.healthHost, log, shutdown });
  if (shutdown.signal.aborted) return;
  const onFatal = () => shutdown.begin("the lease thread failed", 1);
  const parts = { env, log, workerId, worker, web, registry, handlers, random: Math.random, onFatal };
  const service = await WorkerService.create(parts);
  health.setReady(() => readiness(service, needs));
  const describe = (): WorkerRegistration => ({
    workerId,
    ...PROCESS,
    label: env.label,
    queues: service.served.queues,
    definitions: service.served.definitions,
    capacity: env.concurrency,
    healthPort: health.port,
    isolation: registry.isolation,
  });
  const presence = new Presence(worker, log, { describe, runningCount: () => service.runningCount });
  if (shutdown.signal.aborted) return;
  // The row is marked as stopped before the connections close.
  const registered = presence.start();
  shutdown.onDrain(async () => {
    await within(REGISTERED_WITHIN_MS, registered);
    await presence.stop();
  });
  await registered;
  if (shutdown.signal.aborted) return;
  await service.prepare();
  if (shutdown.signal.aborted) return;
  shutdown.onForce(() => service.killAll());
  shutdown.onDrain(async () => {
    presence.drain();
    await service.stop(graceForRunning());
  });
  service.start();
  shutdown.onDrain(limitMemory(service));
  warnOfSettings();
  warnOfExposure(registry);
  log.info(bannerOf(describe(), registry.sha256), "worker is ready");
  announceReady({ port: health.port, workerId });
}

/**
 * Returns true, or why this worker is not ready. Does not check the web pool, because running handlers may hold all of
 * it.
 */
async function readiness(service: WorkerService, needs: Needs): Promise<true | string> {
  if (!service.isReady()) return "no poll got through in the last five seconds";
  return (await misfit(needs, { skipLogins: true }))?.summary ?? true;
}

function limitMemory(service: WorkerService): () => void {
  return watchMemory({
    limitBytes: env.memoryLimitBytes,
    rss: () => process.memoryUsage.rss(),
    onOver: (rss) => {
      service.suspectHandlers();
      leaveForMemory(rss);
    },
  });
}

function leaveForMemory(rss: number): void {
  log.warn({ rss_bytes: rss, limit_bytes: env.memoryLimitBytes }, "over the memory limit: draining");
  shutdown.begin("the memory limit", OVER_MEMORY_LIMIT);
}

function warnOfSettings(): void {
  if (env.webhooks.loopback.length > 0 || env.webhooks.allowHttp) {
    log.warn(env.webhooks, "webhooks may reach addresses that are not public: not for production");
  }
  if (process.pid === 1) log.warn("runs as process 1 without an init: orphans of commands stay as zombies (use tini)");
}

function warnOfExposure({ exposure, isRefusing, launch }: CommandRegistry): void {
  if (exposure === null) return;
  const fields = { commands_could_read: exposure };
  const problem = launch.runAs
    ? "commands are not isolated from other tenants"
    : "commands are not isolated from the worker and from other tenants";
  if (!isRefusing) {
    log.warn(fields, problem);
    return;
  }
  const better = launch.runAs
    ? "give it CAP_SYS_ADMIN on Linux, run it as an ordinary user that can make user namespaces"
    : "let its user make user namespaces with a /proc of their own, run it as root";
  const cure = `${better}, or set COMMANDS_UNSAFE_IN_PRODUCTION=true (docs/operations.md)`;
  log.error({ ...fields, cure }, `${problem}: none is started`);
}

function open(role: "worker" | "web", url: string, size: Pick<OpenOptions, "max" | "keep">): Database {
  const onError = (error: Error) => log.warn({ err: error }, "an idle database connection broke");
  const onPreparedLost = (advice: string) => log.error({ role }, advice);
  const { prepare } = env;
  return openDatabase({ url, role, ...size, prepare, applicationName: "leasehold worker", onError, onPreparedLost });
}

function bannerOf(worker: WorkerRegistration, commandsSha256: string) {
  return {
    version: worker.version,
    worker_id: worker.workerId,
    queues: worker.queues.length > 0 ? worker.queues : "all",
    definitions: worker.definitions,
    capacity: worker.capacity,
    health_port: worker.healthPort,
    isolation: worker.isolation,
    tz_version: worker.tzVersion,
    commands_sha256: commandsSha256,
  };
}

/** Returns the grace period, less the time to stop jobs, their own grace, and the time to give them back. */
function graceForRunning(): number {
  const graceMs = env.shutdownGraceSeconds * 1000;
  return Math.max(0, graceMs - Math.min(10_000, graceMs / 2));
}

const shutdown = installShutdown({ log, graceMs: env.shutdownGraceSeconds * 1000 });
exitIfStartFails(main(shutdown), { shutdown, log, process: "worker" });
