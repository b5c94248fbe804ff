import { constants } from "node:os";
import type { Logger } from "@/lib/observability/log";

// npm and a terminal may deliver one signal twice: through the process group and through npm.
const SAME_WISH_MS = 180;
const EXTRA_MS = 5000;
/**
 * Without its database a process can store nothing, so a long drain is pointless. After the supervisor was killed, its
 * database is stopping too.
 */
const NO_DATABASE_GRACE_MS = 5000;
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

export interface ShutdownOptions {
  readonly log: Logger;
  /** How long the drain may take, in milliseconds. A little later the process exits by force, with code 1. */
  readonly graceMs: number;
}

export interface Shutdown {
  /** Aborted when the drain begins. */
  readonly signal: AbortSignal;
  /**
   * Runs when the process drains, in reverse order of registration. A hook registered after the drain began runs at
   * once.
   */
  onDrain(hook: () => Promise<void> | void): void;
  /** Runs just before a forced exit. Kill children here, synchronously. */
  onForce(hook: () => void): void;
  /** Begins the drain for a reason other than a signal. Default exit code 0. */
  begin(reason: string, exitCode?: number): void;
}

/**
 * Handles the signals of this process. The first one drains and exits 0; signals within 180 ms count as one. A later
 * signal exits at once with 128 + its number. An uncaught error exits at once with 1.
 */
export function installShutdown({ log, graceMs }: ShutdownOptions): Shutdown {
  const controller = new AbortController();
  const drains: DrainHook[] = [];
  const forces: (() => void)[] = [];
  let begunAt = 0;

  const force = (code: number): never => {
    for (const hook of forces) attempt(hook, log);
    process.exit(code);
  };
  const begin = (reason: string, exitCode = 0, limitMs = graceMs + EXTRA_MS) => {
    if (begunAt > 0) return;
    begunAt = performance.now();
    log.info({ reason }, "draining");
    controller.abort(new Error("shutdown"));
    setTimeout(() => force(exitCode || 1), limitMs).unref();
    void drainAll(drains, { exitCode, log });
  };
  const onSignal = (name: (typeof SIGNALS)[number]) => {
    if (begunAt === 0) return begin(name);
    if (performance.now() - begunAt > SAME_WISH_MS) force(128 + constants.signals[name]);
  };

  for (const name of SIGNALS) process.on(name, () => onSignal(name));
  const beginShort = (reason: string) => {
    const limitMs = Math.min(graceMs, NO_DATABASE_GRACE_MS);
    if (begunAt === 0) begin(reason, 1, limitMs);
    else setTimeout(() => force(1), limitMs).unref();
  };
  process.on("disconnect", () => beginShort("the supervisor is gone"));
  process.on("message", (message: { readonly type?: unknown } | null) => {
    if (message?.type === "database-gone") beginShort("PostgreSQL is gone: nothing can be stored");
  });
  const onError = (error: unknown) => {
    log.fatal({ err: error }, "an uncaught error");
    force(1);
  };
  process.on("uncaughtException", onError);
  process.on("unhandledRejection", onError);

  return {
    signal: controller.signal,
    onDrain: (hook) => void drains.push(hook),
    onForce: (hook) => void forces.push(hook),
    begin: (reason, exitCode) => begin(reason, exitCode),
  };
}

type DrainHook = () => Promise<void> | void;

/** Runs the hooks, the last one first, and exits. */
async function drainAll(
  drains: DrainHook[],
  { exitCode, log }: { readonly exitCode: number; readonly log: ShutdownOptions["log"] },
): Promise<void> {
  await new Promise(setImmediate);
  let code = exitCode;
  for (let hook = drains.pop(); hook; hook = drains.pop()) {
    try {
      await hook();
    } catch (error) {
      log.error({ err: error }, "a step of the shutdown failed");
      code = code || 1;
    }
  }
  log.info("stopped");
  process.exit(code);
}

interface StartOptions {
  readonly shutdown: Pick<Shutdown, "signal">;
  readonly log: Pick<Logger, "fatal">;
  readonly process: string;
}

/** Logs the error of a failed start and exits with code 1. */
export function exitIfStartFails(start: Promise<void>, { shutdown, log, process: name }: StartOptions): void {
  start.catch((error: unknown) => {
    // A start that is interrupted may fail on closed connections; the drain goes on and ends the process.
    if (shutdown.signal.aborted) return;
    log.fatal({ err: error }, error instanceof Error ? error.message : `the ${name} cannot start`);
    process.exit(1);
  });
}

function attempt(hook: () => void, log: Logger): void {
  try {
    hook();
  } catch (error) {
    log.error({ err: error }, "a step of the forced exit failed");
  }
}
