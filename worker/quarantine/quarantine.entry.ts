import { handlers } from "@/jobs";
import { openDatabase } from "@/lib/db";
import { orExit } from "@/lib/env/read";
import { loadWorkerEnv } from "@/lib/env/worker";
import type { Execution } from "@/lib/execution";
import { EMPTY_OUTPUT } from "@/lib/execution/refused";
import { createLogger } from "@/lib/observability/log";
import { DefinitionVersions } from "@/lib/queue/worker";
import { watchMemory } from "../memory-watch";
import { endOf } from "../run/attempt-ends";
import { commandRegistry } from "../run/command-registry";
import { JobInFlight } from "../run/job-in-flight";
import { runWithOutput } from "../run/run-with-output";
import { toolsOf } from "../run/tools";
import { Settler } from "../settle/settler";
import { type FromQuarantine, type Launch, OVER_MEMORY_LIMIT, type ToQuarantine } from "./quarantine-protocol";

// A quarantine process: runs one attempt at a time of handlers that may have crashed a worker. It has no leases, claims
// or heartbeat of its own; its worker renews the lease and records the end. When the worker is gone, this process stops
// the attempt and records the end itself, so that a suspect loses nothing when its worker ends.
const POOL = 4;
const LEAVES_WITHIN_MS = 5000;

const random = Math.random;
const definitions = new DefinitionVersions();
let isAsked = false;
let running: JobInFlight | undefined;

const send = (message: FromQuarantine) => {
  if (process.connected) process.send?.(message);
};

// Listens from the beginning, so that the job of a worker that dies meanwhile is still given back.
process.on("message", (message: ToQuarantine) => {
  if (message.type === "run") isAsked = true;
  void ready.then((parts) => {
    if (message.type === "run") void run(parts, message);
    else if (message.type === "stop") running?.stop(message.reason);
  });
});
process.on("disconnect", () => {
  if (!isAsked) process.exit(0);
  running?.stop("shutdown");
  const graceMs = (running && definitions.ifKnown(running.job)?.killGraceSeconds) ?? 0;
  setTimeout(() => process.exit(1), graceMs * 1000 + LEAVES_WITHIN_MS);
});
const ready = new Promise<Launch>((resolve) =>
  process.on("message", (message: ToQuarantine) => {
    if (message.type === "start") resolve(message.launch);
  }),
).then(setUp);

async function setUp(launch: Launch) {
  const env = orExit(loadWorkerEnv);
  const log = createLogger({ process: "worker", level: env.logLevel, format: env.logFormat });
  const open = (role: "worker" | "web") =>
    openDatabase({
      url: env.databaseUrls[role],
      role,
      max: POOL,
      prepare: env.prepare,
      applicationName: "leasehold quarantine",
    });
  const [worker, web] = [open("worker"), open("web")];
  const registry = await commandRegistry(env, log, launch);
  // This process runs only one handler, so that handler is what uses the memory.
  watchMemory({
    limitBytes: env.memoryLimitBytes,
    rss: () => process.memoryUsage.rss(),
    onOver: () => process.exit(OVER_MEMORY_LIMIT),
  });
  send({ type: "ready" });
  return { env, log, worker, tools: toolsOf({ env, worker, web, registry, handlers, random }) };
}

type Parts = Awaited<ReturnType<typeof setUp>>;

async function run(parts: Parts, { job, isNoted }: Extract<ToQuarantine, { type: "run" }>): Promise<void> {
  const inFlight = new JobInFlight(job, performance.now(), 0, 0);
  if (isNoted) inFlight.beganAt = performance.now();
  running = inFlight;
  if (!process.connected) inFlight.stop("shutdown");
  const { worker, tools } = parts;
  // The worker has just read the definition, so a failure here means that the database is unavailable.
  const definition = await definitions.of(worker, job).catch(() => null);
  const execution: Execution = definition
    ? await runWithOutput(inFlight, definition, {
        db: worker,
        log: parts.log,
        leases: { spawned: (_attempt, pid) => send({ type: "spawned", pid }) },
        tools,
        logMaxBytes: parts.env.logMaxBytes,
        onLost: () => inFlight.stop("lease-lost"),
      })
    : { outcome: { kind: "released" }, output: EMPTY_OUTPUT };
  running = undefined;
  isAsked = false;
  if (process.connected) return send({ type: "ended", execution });
  const { beganAt } = inFlight;
  const end = definition && (await endOf({ db: worker, tools, claimed: job, definition, random, beganAt }, execution));
  if (end) await new Settler(worker, parts.log, random).add(end, job.laneNo);
  process.exit(0);
}
