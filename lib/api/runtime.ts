import { createHmac } from "node:crypto";
import { setMaxListeners } from "node:events";
import { writeAudit } from "@/lib/auth/audit";
import { CountedAudit } from "@/lib/auth/counted-audit";
import { deviceSecretOf } from "@/lib/auth/device";
import { type Database, openDatabase } from "@/lib/db";
import { loadWebEnv } from "@/lib/env/web";
import { createLogger, type Logger } from "@/lib/observability/log";
import { DirectConnection } from "@/lib/process";
import type { ArtifactQuota } from "@/lib/queue";
import type { RetrySettings } from "@/lib/queue/types";
import { dataKeyCheck } from "@/lib/tenancy/data-key";
import type { WebhookPolicy } from "@/lib/webhooks/delivery";
import { makeSealer, type Sealer } from "@/lib/webhooks/seal";

/** The settings of the web process that requests need. */
export interface RuntimeConfig {
  /** Our public origin, without a trailing slash. */
  readonly origin: string;
  readonly authSecret: string;
  readonly cursorSecret: string;
  /** Signs the cookie of browsers that have signed in before. */
  readonly deviceSecret: string;
  readonly providerRoots: readonly string[];
  /** Bytes of live output stored per attempt of a remote worker. */
  readonly logMaxBytes: number;
  readonly artifactQuota: ArtifactQuota;
  /** The longest time limit of an attempt of a remote worker. */
  readonly maxTimeoutSeconds: number;
  /** The installation's retry settings, for remote workers. */
  readonly retry: RetrySettings;
  /** The maximum chain depth: how many jobs may cause each other. */
  readonly eventMaxDepth: number;
  /** A direct connection (no pooler), because listening for changes needs a session. */
  readonly listenUrl: string;
  /** Which webhook endpoints are allowed. */
  readonly webhooks: WebhookPolicy;
}

interface RuntimeLog {
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

/** State that lives as long as the process: one pool per role. */
export interface ApiRuntime {
  readonly config: RuntimeConfig;
  readonly log: RuntimeLog;
  readonly web: Database;
  readonly auth: Database;
  readonly platform: Database;
  /** Sees the jobs of all tenants. For the routes of remote workers only. */
  readonly worker: Database;
  /** Encrypts stored secrets. */
  readonly sealer: Sealer;
  /** Check value of the sealer's key, to be compared with those of other processes. */
  readonly dataKeyCheck: Buffer;
  readonly direct: DirectConnection;
  /** Writes denials to the security audit. */
  readonly denials: CountedAudit;
  close(): Promise<void>;
}

// On globalThis, because routes, pages and the front are bundled separately but share one process.
const slots = globalThis as unknown as Record<symbol, unknown>;
const RUNTIME = Symbol.for("leasehold.runtime");
const SHUTDOWN = Symbol.for("leasehold.shutdown");

const WEB_CONNECTIONS = 10;
const AUTH_CONNECTIONS = 5;
const PLATFORM_CONNECTIONS = 3;
const WORKER_CONNECTIONS = 4;
/**
 * For each pool that a tenant's request needs, so that an idle process answers even if the server accepts no more
 * connections.
 */
const KEPT_CONNECTIONS = 2;
// A server that accepts a query and falls silent must not hold a request longer than its client waits.
const QUERY_TIMEOUT_MS = 10_000;
const AUTH_QUERY_TIMEOUT_MS = 4000;

/** Returns the process's pools and settings. The first call opens them. */
export function getRuntime(): ApiRuntime {
  slots[RUNTIME] ??= openRuntime();
  return slots[RUNTIME] as ApiRuntime;
}

/** Closes the pools, if any were opened. */
export async function closeRuntime(): Promise<void> {
  await (slots[RUNTIME] as ApiRuntime | undefined)?.close();
}

/** Aborted when the process begins to stop; long answers end on it. */
export function shutdownSignal(): AbortSignal {
  return shutdownController().signal;
}

/** Ends every long answer. */
export function beginShutdown(): void {
  shutdownController().abort();
}

/** Runs `hook` when the process begins to stop. */
export function onShutdown(hook: () => void): void {
  shutdownSignal().addEventListener("abort", hook, { once: true });
}

function shutdownController(): AbortController {
  slots[SHUTDOWN] ??= unlimited(new AbortController());
  return slots[SHUTDOWN] as AbortController;
}

// Every open stream listens to this signal, so many listeners are no leak.
function unlimited(controller: AbortController): AbortController {
  setMaxListeners(0, controller.signal);
  return controller;
}

function openRuntime(): ApiRuntime {
  const env = loadWebEnv();
  const log = createLogger({ process: "web", level: env.logLevel, format: env.logFormat });
  const pools = openPools(env, log);
  const direct = new DirectConnection(env.databaseUrls.listen);
  const config = {
    origin: env.origin,
    authSecret: env.authSecret,
    cursorSecret: createHmac("sha256", env.authSecret).update("leasehold cursor").digest("hex"),
    deviceSecret: deviceSecretOf(env.authSecret),
    providerRoots: env.providerRoots,
    logMaxBytes: env.logMaxBytes,
    artifactQuota: env.artifactQuota,
    maxTimeoutSeconds: env.maxTimeoutSeconds,
    retry: env.retry,
    eventMaxDepth: env.eventMaxDepth,
    listenUrl: env.databaseUrls.listen,
    webhooks: env.webhooks,
  };
  const denials = new CountedAudit(
    (entry) => writeAudit(pools.auth, entry),
    (error) => log.warn({ error: String(error) }, "audit line of repeated denials not written"),
  );
  const close = async () => {
    await denials.flush();
    await Promise.all(Object.values(pools).map((pool) => pool.close()));
  };
  return {
    config,
    log,
    ...pools,
    sealer: makeSealer(env.dataKey),
    dataKeyCheck: dataKeyCheck(env.dataKey),
    direct,
    denials,
    close,
  };
}

function openPools(env: ReturnType<typeof loadWebEnv>, log: Logger) {
  const open = (role: "web" | "auth" | "platform" | "worker", max: number, queryTimeoutMs: number) =>
    openDatabase({
      url: env.databaseUrls[role],
      role,
      max,
      keep: role === "web" || role === "auth" ? KEPT_CONNECTIONS : 0,
      queryTimeoutMs,
      prepare: env.prepare,
      onPreparedLost: (advice) => log.error({ role }, advice),
      applicationName: "leasehold-web",
      onError: (error) => log.warn({ role, error: error.message }, "idle database connection lost"),
    });
  return {
    web: open("web", WEB_CONNECTIONS, QUERY_TIMEOUT_MS),
    auth: open("auth", AUTH_CONNECTIONS, AUTH_QUERY_TIMEOUT_MS),
    platform: open("platform", PLATFORM_CONNECTIONS, QUERY_TIMEOUT_MS),
    worker: open("worker", WORKER_CONNECTIONS, QUERY_TIMEOUT_MS),
  };
}
