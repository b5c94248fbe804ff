import { parentPort, workerData } from "node:worker_threads";
import { openDatabase } from "@/lib/db";
import { createLogger } from "@/lib/observability/log";
import { endBlockedProcess, MAIN_IS_BLOCKED } from "./end-process";
import { killGroup } from "./kill-group";
import { LeaseBatches } from "./lease-batches";
import { type FromThread, type LeaseThreadData, processClock, type ToThread } from "./lease-protocol";
import { LeaseRenewal } from "./lease-renewal";
import { MainPulse, MainWatch } from "./main-watch";

// Renews the worker's leases in a thread of its own with a connection of its own. Neither a busy pool nor a handler
// that blocks the main thread's event loop can stop renewals, or keep the work of a lost lease from being stopped.
const TURN_MS = 1000;
const ANSWER_MS = 4000;

const { databaseUrl, log: logging } = workerData as LeaseThreadData;
const log = createLogger({ process: "worker", ...logging });
const port = parentPort;
if (!port) throw new Error("this file runs as a worker thread");

const db = openDatabase({
  url: databaseUrl,
  role: "worker",
  max: 1,
  keep: 1,
  prepare: true, // the direct connection, which keeps its session
  applicationName: "leasehold leases",
  acquireTimeoutMs: ANSWER_MS,
  queryTimeoutMs: ANSWER_MS,
});
const main = new MainWatch({
  ask: () => port.postMessage({ type: "are-you-there" } satisfies FromThread),
  onSilent: () => {
    log.fatal({ exit_code: MAIN_IS_BLOCKED }, "a handler has lost its lease and blocks the worker: it ends");
    endBlockedProcess();
  },
});
const post = (message: FromThread) => {
  port.postMessage(message);
  if (message.type === "lost") main.leaseLost();
};
const renewal = new LeaseRenewal(db, processClock, post, killGroup);

const batches = new LeaseBatches(renewal, processClock);
const pulse = new MainPulse();

void renewal.turn().then(() => port.postMessage({ type: "ready" } satisfies FromThread));
const timer = setInterval(() => {
  batches.turn();
  void renewal.turn(pulse.turn());
  main.turn();
}, TURN_MS);

port.on("message", (message: ToThread) => {
  switch (message.type) {
    case "hold":
      return batches.hold(message.batch);
    case "limit":
      return batches.limit(message.at, message.renewForMs);
    case "drop":
      for (const no of message.batches) batches.dropBatch(no);
      for (const at of message.leases) batches.drop(at);
      return;
    case "spawned":
      batches.watch(message.at);
      return renewal.spawned(message.lease, message.pid);
    case "here":
      pulse.beat();
      return main.answered();
    case "heartbeat":
      return pulse.beat();
    case "stop":
      clearInterval(timer);
      return void db.close().finally(() => port.close());
  }
});
