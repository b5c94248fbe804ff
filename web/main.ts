/**
 * The web process: pages, API, live updates. Start with `main`, then `createFront` (front/front.ts).
 *
 * Order of a start: listen, check that the database fits, publish the assets, start Next.js. Until Next.js is ready,
 * valid requests get a 503. On SIGTERM, streams end at once and requests in progress get the grace period.
 */

import { existsSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import next from "next";
import { beginShutdown, closeRuntime, shutdownSignal } from "@/lib/api/runtime";
import { withDeadline } from "@/lib/async/deadline";
import { deviceSecretOf } from "@/lib/auth/device";
import { type Database, openDatabase } from "@/lib/db";
import { publishOrigin } from "@/lib/env/publish-origin";
import { orExit } from "@/lib/env/read";
import { loadWebEnv } from "@/lib/env/web";
import { createLogger } from "@/lib/observability/log";
import { announceReady, DirectConnection, installShutdown, requireFit, TZ_VERSION, VERSION } from "@/lib/process";
import { dataKeyCheck } from "@/lib/tenancy/data-key";
import { createFront, type Front } from "./front/front";
import type { NextHandler } from "./front/render-page";
import { listBuildAssets, PUBLISH_EVERY_MS, publishAssets, SharedAssets } from "./front/shared-assets";

/** Exit code after which a supervisor chooses another port. */
const EXIT_PORT_TAKEN = 98;
/** Requests already on the wire when the signal comes are still read and answered. */
const READ_ON_MS = 150;
const PUBLISH_AGAIN_MS = 10_000;
/**
 * Time limit for the first publish. Other processes may be asked for this build's assets as soon as this one is ready,
 * so the start waits until the assets are stored. After the limit, a page that does not load is better than no process.
 */
const PUBLISH_FIRST_MS = 20_000;

declare const __LEASEHOLD_TEST_BUILD__: boolean;
const BUILD_FOLDER = __LEASEHOLD_TEST_BUILD__ ? ".next-test" : ".next";

const env = orExit(loadWebEnv);
const log = createLogger({ process: "web", level: env.logLevel, format: env.logFormat });
const opening = { prepare: env.prepare };
const dev = process.argv.includes("--dev");

async function main(): Promise<void> {
  const shutdown = installShutdown({ log, graceMs: env.shutdownGraceSeconds * 1000 });
  let handler: NextHandler | undefined;
  let origin = "";
  const assets = dev ? null : await openAssets(shutdown);
  const shared = assets && new SharedAssets(assets.db);
  const front = createFront({
    dev,
    origin: () => origin,
    deviceSecret: deviceSecretOf(env.authSecret),
    next: () => handler,
    hosts: env.hosts,
    trustedProxies: env.trustedProxies,
    maxConnections: env.maxConnections,
    findAsset: async (name) => (!shared || assets.own.has(name) ? null : shared.find(name)),
    log,
  });
  shutdown.onDrain(closeRuntime);
  const port = await listen(front);
  shutdown.onDrain(() => stop(front));
  // The real port is known only here, and with it the default of the public origin.
  origin = publishOrigin(env.host, port);
  await checkFit(shutdown.signal);
  if (shutdown.signal.aborted) return;
  // Before Next.js starts, because its start blocks the event loop for so long that new database connections time out.
  if (assets) await withDeadline(publishNowAndThen(assets), PUBLISH_FIRST_MS);
  if (shutdown.signal.aborted) return;
  const app = next({ dev, dir: projectFolder(), hostname: env.host, port });
  await app.prepare();
  const upgrade = app.getUpgradeHandler();
  if (dev) front.server.on("upgrade", (req, socket, head) => void upgrade(req, socket, head));
  handler = app.getRequestHandler();
  log.info({ version: VERSION, tz_version: TZ_VERSION, origin, port }, "web is ready");
  announceReady({ port });
}

/**
 * Checks that the database fits this process, on pools of its own: the pools of requests belong to the bundle of the
 * routes.
 */
async function checkFit(signal: AbortSignal): Promise<void> {
  const open = (role: "web" | "auth" | "platform" | "worker") =>
    openDatabase({ ...opening, url: env.databaseUrls[role], role, max: 1, applicationName: "leasehold-web start" });
  const [web, auth, platform, worker] = [open("web"), open("auth"), open("platform"), open("worker")];
  const pools = [web, auth, platform, worker] as const;
  const direct = new DirectConnection(env.databaseUrls.listen);
  const needs = { pools, direct, dataKey: { check: dataKeyCheck(env.dataKey), worker } };
  try {
    // An unreachable database does not prevent the start, because /readyz checks again.
    await requireFit(needs, { log, signal, unreachable: "pass" });
  } finally {
    await Promise.all(pools.map((pool) => pool.close()));
  }
}

interface Assets {
  /** The assets of this build, by the path that browsers ask for. */
  readonly own: ReadonlyMap<string, string>;
  readonly db: Database;
}

async function openAssets(shutdown: ReturnType<typeof installShutdown>): Promise<Assets> {
  const own = await listBuildAssets(join(projectFolder(), BUILD_FOLDER));
  const db = openDatabase({
    ...opening,
    url: env.databaseUrls.web,
    role: "web",
    max: 2,
    applicationName: "leasehold-web assets",
  });
  shutdown.onDrain(() => db.close());
  return { own, db };
}

/**
 * Publishes the assets, and again from time to time while the process runs. Resolves after the first try, even a failed
 * one: pages work without it as long as no other build is served.
 */
async function publishNowAndThen(assets: Assets): Promise<void> {
  const pause = await publishAssets(assets.db, assets.own).then(
    () => PUBLISH_EVERY_MS,
    (error: unknown) => {
      log.warn({ err: error }, "the assets of the pages could not be published; retrying");
      return PUBLISH_AGAIN_MS;
    },
  );
  setTimeout(pause, undefined, { ref: false, signal: shutdownSignal() })
    .then(() => publishNowAndThen(assets))
    .catch(() => {}); // aborted: the process stops
}

function listen({ server }: Front): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(env.port, env.host, () => resolve((server.address() as AddressInfo).port));
  });
}

// Ends streams at once, gives running requests their grace, and then closes the remaining connections.
async function stop(front: Front): Promise<void> {
  front.beginClosing();
  beginShutdown();
  await setTimeout(READ_ON_MS);
  const closed = new Promise<void>((resolve) => front.server.close(() => resolve()));
  front.server.closeIdleConnections();
  front.closeUnused();
  await withDeadline(closed, env.shutdownGraceSeconds * 1000);
  front.server.closeAllConnections();
  await closed;
}

function projectFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return folder;
}

main().catch((error: NodeJS.ErrnoException) => {
  const taken = error.code === "EADDRINUSE";
  if (taken) log.fatal({ port: env.port, host: env.host }, `port ${env.port} is taken; set PORT to another one`);
  else log.fatal({ err: error }, error.name === "MisfitError" ? error.message : "web could not start");
  process.exit(taken ? EXIT_PORT_TAKEN : 1);
});
