import { createHmac } from "node:crypto";
import { setMaxListeners } from "node:events";
import { writeAudit } from "@/lib/auth/audit";
import { CountedAudit } from "@/lib/auth/counted-audit";
import { deviceSecretOf } from "@/lib/auth/device";
import { type Database, openDatabase } from "@/lib/db";
import { loadWebEnv } from "@/lib/env/web";
import { createLogger } from "@/lib/observability/log";
import { DirectConnection } from "@/lib/process";
import type { ArtifactQuota } from "@/lib/queue";
import type { RetrySettings } from "@/lib/queue/types";
import { dataKeyCheck } from "@/lib/tenancy/data-key";
import type { WebhookPolicy } from "@/lib/webhooks/delivery";
import { makeSealer, type Sealer } from "@/lib/webhooks/seal";

/** Settings of the web process, as far as requests need them. */
export interface RuntimeConfig {
  /** Our public origin, without a slash at the end. */
  readonly origin: string;
  readonly authSecret: string;
  readonly cursorSecret: string;
  /** Signs the cookie of browsers that signed in before. */
  readonly deviceSecret: string;
  readonly providerRoots: readonly string[];
  /** Bytes of live output that are kept of one attempt of a remote worker. */
  readonly logMaxBytes: number;
  readonly artifactQuota: ArtifactQuota;
  /** No attempt of a remote worker is longer. */
  readonly maxTimeoutSeconds: number;
  /** What the installation says of retries, for remote workers. */
  readonly retry: RetrySettings;
  /** How many jobs may cause each other. */
  readonly eventMaxDepth: number;
  /** A direct connection (no pooler): what listens for changes needs a session. */
  readonly listenUrl: string;
  /** What endpoints of webhooks may be. */
  readonly webhooks: WebhookPolicy;
}

interface RuntimeLog {
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

/** What lives as long as the process: one pool per role. */
export interface ApiRuntime {
  readonly config: RuntimeConfig;
  readonly log: RuntimeLog;
  readonly web: Database;
  readonly auth: Database;
  readonly platform: Database;
  /** Sees the jobs of all tenants: for the routes of remote workers, and for nothing else. */
  readonly worker: Database;
  /** For secrets that are stored. */
  readonly sealer: Sealer;
  /** Of the key behind the sealer, to be compared with those of the other processes. */
  readonly dataKeyCheck: Buffer;
  readonly direct: DirectConnection;
  /** Writes denials to the security audit. */
  readonly denials: CountedAudit;
  close(): Promise<void>;
}

// On globalThis, since routes, pages and the front are bundled apart but share one process.
const slots = globalThis as unknown as Record<symbol, unknown>;
const RUNTIME = Symbol.for("leasehold.runtime");
const SHUTDOWN = Symbol.for("leasehold.shutdown");

const WEB_CONNECTIONS = 10;
const AUTH_CONNECTIONS = 5;
const PLATFORM_CONNECTIONS = 3;
const WORKER_CONNECTIONS = 4;
/** Of each pool that a tenant's request needs: a quiet process answers while the server takes no more connections. */
const KEPT_CONNECTIONS = 2;
// A server that takes a query and falls silent must not keep a request longer than its client waits.
const QUERY_TIMEOUT_MS = 10_000;
const AUTH_QUERY_TIMEOUT_MS = 4000;

/** The process's pools and settings; opened by the first request. */
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

/** Tells every long answer to end. */
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

// Every open stream listens to it, and many listeners are no leak here.
function unlimited(controller: AbortController): AbortController {
  setMaxListeners(0, controller.signal);
  return controller;
}

function openRuntime(): ApiRuntime {
  const env = loadWebEnv();
  const log = createLogger({ process: "web", level: env.logLevel, format: env.logFormat });
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
  const pools = {
    web: open("web", WEB_CONNECTIONS, QUERY_TIMEOUT_MS),
    auth: open("auth", AUTH_CONNECTIONS, AUTH_QUERY_TIMEOUT_MS),
    platform: open("platform", PLATFORM_CONNECTIONS, QUERY_TIMEOUT_MS),
    worker: open("worker", WORKER_CONNECTIONS, QUERY_TIMEOUT_MS),
  };
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
