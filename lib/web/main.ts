import { existsSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import next from "next";
import { beginShutdown, closeRuntime } from "@/lib/api/runtime";
import { isUnavailable, openDatabase } from "@/lib/db";
import { publishOrigin } from "@/lib/env/publish-origin";
import { orExit } from "@/lib/env/read";
import { loadWebEnv } from "@/lib/env/web";
import { createLogger } from "@/lib/observability/log";
import { announceReady, installShutdown, refuseUnsafeLogins, VERSION } from "@/lib/process";
import { createFront, type Front, type NextHandler } from "./front";

/** Exit code that tells a supervisor to choose another port. */
const EXIT_PORT_TAKEN = 98;
/** Requests that are on the wire when the signal comes are still read and answered. */
const READ_ON_MS = 150;

const env = orExit(loadWebEnv);
const log = createLogger({ process: "web", level: env.logLevel, format: env.logFormat });
const dev = process.argv.includes("--dev");

async function main(): Promise<void> {
  const shutdown = installShutdown({ log, graceMs: env.shutdownGraceSeconds * 1000 });
  let handler: NextHandler | undefined;
  let origin = "";
  const front = createFront({ dev, isHttps: () => origin.startsWith("https:"), next: () => handler, log });
  shutdown.onDrain(closeRuntime);
  const port = await listen(front);
  shutdown.onDrain(() => stop(front));
  // Only now is the true port known, and with it the default of our public origin.
  origin = publishOrigin(env.host, port);
  await checkLogins();
  const app = next({ dev, dir: projectFolder(), hostname: env.host, port });
  await app.prepare();
  const upgrade = app.getUpgradeHandler();
  front.server.on("upgrade", (req, socket, head) => {
    if (dev) void upgrade(req, socket, head);
    else socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
  });
  handler = app.getRequestHandler();
  log.info({ version: VERSION, origin, port }, "web is ready");
  announceReady({ port });
}

/** On pools of its own, because the pools of requests belong to the bundle of the routes. */
async function checkLogins(): Promise<void> {
  const pools = (["web", "auth", "platform", "worker"] as const).map((role) =>
    openDatabase({ url: env.databaseUrls[role], role, max: 1, applicationName: "leasehold-web start" }),
  );
  try {
    await refuseUnsafeLogins(pools);
  } catch (error) {
    // A database that is away is no reason not to start: /readyz asks again.
    if (!isUnavailable(error)) throw error;
  } finally {
    await Promise.all(pools.map((pool) => pool.close()));
  }
}

function listen({ server }: Front): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(env.port, env.host, () => resolve((server.address() as AddressInfo).port));
  });
}

// Streams end at once, running requests get their grace, and whoever is still there after it is cut off.
async function stop(front: Front): Promise<void> {
  front.beginClosing();
  beginShutdown();
  await setTimeout(READ_ON_MS);
  const closed = new Promise<void>((resolve) => front.server.close(() => resolve()));
  front.server.closeIdleConnections();
  front.closeUnused();
  await Promise.race([closed, setTimeout(env.shutdownGraceSeconds * 1000, undefined, { ref: false })]);
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
  else log.fatal({ err: error }, error.name === "UnsafeLoginError" ? error.message : "web could not start");
  process.exit(taken ? EXIT_PORT_TAKEN : 1);
});
