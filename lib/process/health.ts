import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { withDeadline } from "@/lib/async/deadline";
import { TZ_VERSION } from "./version";

const ANSWER_WITHIN_MS = 3000;
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
 * Returns whether work can be done. A rejection or three seconds of silence answer 503, like false and a reason.
 */
type ReadyCheck = () => Promise<Readiness> | Readiness;

export interface HealthServer {
  readonly port: number;
  setReady(ready: ReadyCheck): void;
  close(): Promise<void>;
}

/** Serves /livez (the event loop runs) and /readyz (the process can work). /livez never queries the database. */
export async function startHealthServer({ port, host, ...options }: HealthOptions): Promise<HealthServer> {
  let ready: ReadyCheck = options.ready ?? (() => "starting");
  const server = createServer((request, response) => {
    const path = request.url?.split("?")[0];
    if (request.method !== "GET" && request.method !== "HEAD") return answer(response, 405, "method not allowed");
    if (path === "/livez") return answer(response, 200, "live");
    if (path !== "/readyz") return answer(response, 404, "not found");
    void isReady(ready).then((is) => {
      if (is === true) return answer(response, 200, "ready", ABOUT);
      if (is === false) return answer(response, 503, "not ready", ABOUT);
      if (typeof is === "string") return answer(response, 503, "not ready", { ...ABOUT, reason: is || undefined });
      const notices = is.notices.length > 0 ? is.notices : undefined;
      answer(response, 200, "ready", { ...ABOUT, notices });
    });
  });
  await listen(server, port, host);
  return {
    port: (server.address() as AddressInfo).port,
    setReady: (check) => {
      ready = check;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function isReady(ready: ReadyCheck): Promise<Readiness> {
  try {
    return await withDeadline(Promise.resolve(ready()), ANSWER_WITHIN_MS, () => false);
  } catch {
    return false;
  }
}

function answer(response: ServerResponse, status: number, text: string, more: object = {}): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
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
