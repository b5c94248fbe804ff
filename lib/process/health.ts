import { Worker } from "node:worker_threads";
import type { FromHealthThread, HealthThreadData, Readiness, ToHealthThread } from "./health-protocol";
import { checked } from "./shared-check";

/** Where the program of the thread is. Tests, which run from sources, set another place. */
export const healthThread = { url: new URL("./health-thread.mjs", import.meta.url) };

export interface HealthOptions extends HealthThreadData {
  /** The same as `setReady`. Until it is set, /readyz answers 503 with the reason "starting". */
  readonly ready?: ReadyCheck;
}

/**
 * Returns whether work can be done. A rejection or three seconds of silence answer 503, like false and a reason. All
 * requests share one run, and its result for a second.
 */
type ReadyCheck = () => Promise<Readiness> | Readiness;

export interface HealthServer {
  readonly port: number;
  setReady(ready: ReadyCheck): void;
  close(): Promise<void>;
}

/**
 * Serves /livez (the event loop runs) and /readyz (the process can work) from a thread of its own, because commands of
 * tenants share the host's network: their requests must not take time of the event loop that claims and settles jobs.
 * The thread asks this one once a second at most. /livez never queries the database. An error of the thread is an
 * uncaught error of the process.
 */
export async function startHealthServer({ port, host, ...options }: HealthOptions): Promise<HealthServer> {
  let check: ReadyCheck = options.ready ?? (() => "starting");
  const thread = new Worker(healthThread.url, {
    workerData: { port, host } satisfies HealthThreadData,
    env: {},
    execArgv: ["--enable-source-maps"],
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  const send = (message: ToHealthThread) => thread.postMessage(message);
  const sendReadiness = async () => {
    const ran = check;
    const is = await checked(ran, false);
    if (ran !== check) return sendReadiness();
    send({ type: "answer", question: "ready", is });
  };
  const hear = (message: FromHealthThread) => {
    if (message.type !== "ask") return;
    if (message.question === "ready") void sendReadiness();
    else send({ type: "answer", question: "live", is: true });
  };
  return {
    port: await portOf(thread.on("message", hear)),
    setReady: (ready) => {
      check = ready;
      send({ type: "outdated" });
    },
    close: async () => void (await thread.terminate()),
  };
}

/** Returns the port that the thread listens on. @throws its error if it cannot listen */
function portOf(thread: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    thread.once("error", reject);
    thread.once("message", (message: FromHealthThread) => {
      thread.off("error", reject);
      if (message.type === "listening") resolve(message.port);
    });
  });
}
