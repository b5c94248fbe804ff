import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { sharedCheck } from "./shared-check";
import { TZ_VERSION } from "./version";

const MOST_CONNECTIONS = 64;
const REQUEST_WITHIN_MS = 3000;
const LIMITS = {
  maxHeaderSize: 4096,
  headersTimeout: REQUEST_WITHIN_MS,
  requestTimeout: REQUEST_WITHIN_MS,
  connectionsCheckingInterval: 1000,
};
/** Part of each answer of /readyz. */
const ABOUT = { tz_version: TZ_VERSION };

export interface HealthOptions {
  /** 0 takes a free port. */
  readonly port: number;
  readonly host: string;
  /** The same as `setReady`. Until it is set, /readyz answers 503 with the reason "starting". */
  readonly ready?: ReadyCheck;
}

/** Ready: true, or notices for an operator. Not ready: false, or a reason. */
type Readiness = boolean | string | { readonly notices: readonly string[] };

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
 * Serves /livez (the event loop runs) and /readyz (the process can work). /livez never queries the database. Each
 * connection serves one request, in three seconds; the 65th open connection closes the oldest.
 */
export async function startHealthServer({ port, host, ...options }: HealthOptions): Promise<HealthServer> {
  let ready = sharedCheck(options.ready ?? (() => "starting"), false);
  const server = createServer(LIMITS, (request, response) => {
    if (!isFirst(request.socket)) return void request.socket.destroy();
    const path = request.url?.split("?")[0];
    if (request.method !== "GET" && request.method !== "HEAD") return answer(response, 405, "method not allowed");
    if (path === "/livez") return answer(response, 200, "live");
    if (path !== "/readyz") return answer(response, 404, "not found");
    void ready().then((is) => {
      if (is === true) return answer(response, 200, "ready", ABOUT);
      if (is === false) return answer(response, 503, "not ready", ABOUT);
      if (typeof is === "string") return answer(response, 503, "not ready", { ...ABOUT, reason: is || undefined });
      const notices = is.notices.length > 0 ? is.notices : undefined;
      answer(response, 200, "ready", { ...ABOUT, notices });
    });
  });
  closeOldest(server);
  await listen(server, port, host);
  return {
    port: (server.address() as AddressInfo).port,
    setReady: (check) => {
      ready = sharedCheck(check, false);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const asked = new WeakSet<Socket>();

/** False for further requests of a connection, which a client may send before the first one is answered. */
function isFirst(socket: Socket): boolean {
  const first = !asked.has(socket);
  asked.add(socket);
  return first;
}

function closeOldest(server: Server): void {
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    // Not the newest: connections that are held open must not keep a probe out.
    const [oldest] = open;
    if (open.size > MOST_CONNECTIONS) oldest?.destroy();
  });
}

function answer(response: ServerResponse, status: number, text: string, more: object = {}): void {
  response.writeHead(status, {
    "content-type": "application/json",
    "cache-control": "no-store",
    connection: "close",
  });
  response.end(JSON.stringify({ status: text, ...more }));
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
