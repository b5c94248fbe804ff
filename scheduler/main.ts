/**
 * The scheduler process: everything that happens by the clock. Start with `LOOPS` (loops.ts).
 *
 * Any number of schedulers may run; one is the leader and runs the loops, the others stand by. Work that only the leader
 * may do runs in a transaction that checks its term; the rest is safe to do twice. Each turn does a bounded batch.
 */

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type Database, listen, type OpenOptions, openDatabase } from "@/lib/db";
import { orExit } from "@/lib/env/read";
import { loadSchedulerEnv } from "@/lib/env/scheduler";
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
import { CHANNELS, hasLeader, partitionProblem, seekLeadership } from "@/lib/queue/scheduler";
import { LOOPS, WEB_POOL } from "./loops";
import { Hints, runLoops } from "./run-loops";
import { snapshots } from "./watch-snapshots";

const env = orExit(loadSchedulerEnv);
const log = createLogger({ process: "scheduler", level: env.logLevel, format: env.logFormat });
const POOL = 4;

const onError = (error: unknown) => log.warn({ err: error }, "the database connection broke");

function open(role: "scheduler" | "web", size: Pick<OpenOptions, "max" | "applicationName">): Database {
  const onPreparedLost = (advice: string) => log.error({ role }, advice);
  return openDatabase({ url: env.databaseUrls[role], role, ...size, prepare: env.prepare, onError, onPreparedLost });
}

async function main(shutdown: Shutdown): Promise<void> {
  const leaderId = `${hostname()}:${process.pid}:${randomUUID()}`;
  const db = open("scheduler", { max: POOL, applicationName: "leasehold scheduler" });
  shutdown.onDrain(() => db.close());
  const web = open("web", { max: WEB_POOL, applicationName: "leasehold scheduler for tenants" });
  shutdown.onDrain(() => web.close());
  let stopTerm: (() => Promise<void>) | undefined;
  let newerTz: string | null = null;
  const needs: Needs = { pools: [db, web], works: db, direct: new DirectConnection(env.databaseUrls.listen) };
  const health = await startHealth(needs, { port: env.healthPort, host: env.healthHost, log, shutdown });
  if (shutdown.signal.aborted) return;
  health.setReady(() => readiness(needs, { leads: stopTerm !== undefined, newerTz }));

  const endTerm = () => {
    const ended = stopTerm?.();
    stopTerm = undefined;
    return ended;
  };
  const leadership = seekLeadership(
    { url: env.databaseUrls.listen, leaderId, random: Math.random, version: VERSION, tzVersion: TZ_VERSION },
    {
      onLead: (term) => {
        log.info({ term, tz_version: TZ_VERSION }, "became leader");
        const { retry, eventMaxDepth, providerRoots } = env;
        const leader = { leaderId, term };
        stopTerm = beginTerm({ db, web, leader, log, random: Math.random, retry, eventMaxDepth, providerRoots });
      },
      onLost: () => {
        log.info("lost leadership");
        void endTerm();
      },
      onOutdated: (newest) => {
        newerTz = newest;
        const versions = { tz_version: TZ_VERSION, newest };
        if (newest !== null) log.warn(versions, "does not lead: another scheduler has newer time-zone data");
        else log.info(versions, "time-zone data is the newest again; may lead");
      },
      onError,
    },
  );
  shutdown.onDrain(async () => {
    await endTerm();
    await leadership.close();
  });
  log.info(
    { version: VERSION, tz_version: TZ_VERSION, scheduler_id: leaderId, health_port: health.port },
    "scheduler is ready",
  );
  announceReady({ port: health.port });
}

/**
 * Returns true, or why this scheduler is not ready: it does not fit the database, there is no leader, or this scheduler
 * is the leader and the partitions need an operator. The leader adds notices of old snapshots, and a scheduler that
 * stands by because of older time-zone data adds a notice of that.
 */
async function readiness(
  needs: Needs,
  { leads, newerTz }: { readonly leads: boolean; readonly newerTz: string | null },
): Promise<true | string | { readonly notices: readonly string[] }> {
  const [db] = needs.pools;
  // Work of tenants may hold every connection of the web pool.
  const problem = await misfit(needs, { skipLogins: true });
  if (problem) return problem.summary;
  if (leads) return (await partitionProblem(db)) ?? { notices: snapshots.notices() };
  if (!(await hasLeader(db))) return "no scheduler leads";
  if (newerTz === null) return true;
  return {
    notices: [`Does not lead: another scheduler has time-zone data ${newerTz}, this one ${TZ_VERSION ?? "none"}.`],
  };
}

/** Runs the leader's loops. Returns a function that stops them; it resolves when the last turn has ended. */
function beginTerm(turn: Parameters<typeof runLoops>[1]): () => Promise<void> {
  const controller = new AbortController();
  const hints = new Hints();
  const running = runLoops(LOOPS, turn, controller.signal, hints);
  const listener = listen({
    url: env.databaseUrls.listen,
    channels: [CHANNELS.schedules],
    applicationName: "leasehold scheduler listener",
    onNotify: (channel) => hints.give(channel),
    onReady: () => hints.give(CHANNELS.schedules),
  });
  return async () => {
    controller.abort();
    await Promise.all([running, listener.close()]);
  };
}

const shutdown = installShutdown({ log, graceMs: env.shutdownGraceSeconds * 1000 });
exitIfStartFails(main(shutdown), { shutdown, log, process: "scheduler" });
