/**
 * The HTTP server in front of Next.js. Start with `createFront`, then `serve`.
 *
 * Serves the requests of a connection one after the other. Checks every request before the framework sees it: target,
 * host, cookies, method and body size. Limits connections, pipelined requests, unread answers (`UnsentAnswers`),
 * sign-ins in progress and page renders (`PageFront`). Removes headers that clients must not set, adds the client's
 * address and a request id, and sets the security headers of every answer.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { CLIENT_IP_HEADER } from "@/lib/api/http/request-info";
import { allowedMethods } from "@/lib/api/routes";
import { LIMITS } from "@/lib/contract";
import type { TrustedProxies } from "@/lib/env/trusted-proxies";
import { UnsentAnswers } from "./answers/unsent-answers";
import { capBody } from "./cap-body";
import { hostCheck, type OwnHosts } from "./check-host";
import { checkedPath } from "./check-url";
import { clientFinder } from "./client-address";
import { cleanRequestHeaders, neverCachePages, sendLengths, setSecurityHeaders } from "./headers";
import { HealthTurns, isHealthPath } from "./health-turns";
import { holdUntilAnswered } from "./hold-until-answered";
import { lineOf } from "./line-of";
import { PageFront } from "./page-front";
import { type HttpRefusal, refuse } from "./refuse";
import type { NextHandler } from "./render-page";
import { SentAhead } from "./sent-ahead";
import type { BuildAsset } from "./shared-assets";
import { isSignIn, SIGN_IN_BODY_BYTES, SignInSlots } from "./sign-in-slots";

export interface FrontOptions {
  readonly dev: boolean;
  /** The public origin; empty until the listener has a port. */
  readonly origin: () => string;
  /** Signs the marks of known browsers (`deviceSecretOf`). */
  readonly deviceSecret: string;
  /** The framework, once it is ready; until then every request gets a 503. */
  readonly next: () => NextHandler | undefined;
  /** Finds a script or style of another build, published by another process. */
  readonly findAsset?: (path: string) => Promise<BuildAsset | null>;
  /** The hosts that requests may name. */
  readonly hosts: OwnHosts;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: TrustedProxies;
  /** Most connections at once; further ones are closed as soon as they are accepted. */
  readonly maxConnections: number;
  /** Time limit for the headers of a request; default ten seconds. */
  readonly headersWithinMs?: number;
  /** How long a connection may be silent while its answer waits to be read; default two minutes. */
  readonly silentForMs?: number;
  readonly log: { warn(fields: object, text: string): void; error(fields: object, text: string): void };
}

export interface Front {
  readonly server: Server;
  /** From now on each answer closes its connection. */
  beginClosing(): void;
  /** Ends connections that never sent a request. Browsers open some ahead, and the server takes them for busy. */
  closeUnused(): void;
}

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

interface Gate {
  closing: boolean;
  readonly findClient: ReturnType<typeof clientFinder>;
  readonly hostProblem: ReturnType<typeof hostCheck>;
  readonly pages: PageFront | null;
  readonly sentAhead: SentAhead;
  readonly healthTurns: HealthTurns;
  readonly signIns: SignInSlots;
  readonly unsent: UnsentAnswers;
}

const PAGE_METHODS = ["GET", "HEAD"];
const HEADERS_WITHIN_MS = 10_000;
/** Interval of the check for overdue connections; Node.js defaults to 30 seconds. */
const LOOK_FOR_OVERDUE_MS = 2000;
/** Longer than any answer takes, and eight heartbeats of a stream. */
const SILENT_FOR_MS = 120_000;
const WARN_EVERY_MS = 60_000;
/** Browsers keep this many per site. The framework's work grows with the square: 700 block the event loop for 150 ms. */
const MOST_COOKIES = 180;
const MUCH_UNREAD = {
  code: "unavailable",
  detail: "Your network leaves too many answers unread. Read them, and try again in a few seconds.",
  headers: { "retry-after": "2" },
} as const;

/**
 * Creates the server. Bad targets, methods, headers and bodies get a 4xx, where the framework alone would answer 500,
 * run page code on a POST, or read without end.
 */
export function createFront(options: FrontOptions): Front {
  const gate: Gate = {
    closing: false,
    findClient: clientFinder(options.trustedProxies),
    hostProblem: hostCheck(options.hosts),
    // In development, pages change while the process runs.
    pages: options.dev ? null : new PageFront(() => ({ origin: options.origin(), deviceSecret: options.deviceSecret })),
    sentAhead: new SentAhead(),
    healthTurns: new HealthTurns(),
    signIns: new SignInSlots(),
    unsent: new UnsentAnswers((line) => options.log.warn({ line }, "too many answers of a network are left unread")),
  };
  const headersTimeout = options.headersWithinMs ?? HEADERS_WITHIN_MS;
  const timeouts = {
    headersTimeout,
    requestTimeout: 60_000,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: Math.min(LOOK_FOR_OVERDUE_MS, headersTimeout / 5),
  };
  const server = createServer(timeouts, (req, res) => {
    gate.sentAhead.serveInTurn(req, res, () => serve({ req, res }, options, gate));
  });
  // Without a timeout, a client that never reads its answer would keep its connection forever.
  server.timeout = options.silentForMs ?? SILENT_FOR_MS;
  server.maxConnections = options.maxConnections;
  server.on("drop", warnWhenFull(options));
  server.on("clientError", refuseBrokenRequest);
  // In development, the framework's socket for changed files is the only upgrade.
  if (!options.dev) server.on("upgrade", (_req, socket: Socket) => refuseAndClose(socket, "400 Bad Request"));
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return {
    server,
    beginClosing: () => {
      gate.closing = true;
    },
    closeUnused: () => {
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}

function refuseBody({ req, res }: Exchange, answer: { readonly instance: string; readonly requestId: string }): void {
  refuse(res, { ...answer, code: "body-too-large", headers: { connection: "close" } });
  res.once("finish", () => req.destroy());
}

function serve({ req, res }: Exchange, options: FrontOptions, gate: Gate): void {
  const path = checkedPath(req.url);
  const isApi = path === null || isApiPath(path);
  const requestId = cleanRequestHeaders(req, isApi, gate.findClient);
  if (gate.closing) res.setHeader("connection", "close");
  setSecurityHeaders(req, res, { isApi, isHttps: options.origin().startsWith("https:"), dev: options.dev });
  res.setHeader("x-request-id", requestId);
  const answer = { instance: path ?? "/", requestId };
  const settings = { origin: options.origin(), deviceSecret: options.deviceSecret };
  const line = lineOf(req, settings).name;
  const counted = gate.unsent.count(line, res);
  const next = options.next();
  if (path === null) {
    refuse(res, { ...answer, code: "invalid-path" });
    return;
  }
  const refusal = refusalOf(req, path, { gate, line });
  if (refusal) {
    refuse(res, { ...answer, ...refusal });
    req.resume();
    return;
  }
  if (refusedByMethod({ req, res }, path, answer)) return;
  if (!next) {
    refuse(res, { ...answer, code: "unavailable", headers: { "retry-after": "1" } });
    return;
  }
  const mostBytes = isSignIn(req, path) ? SIGN_IN_BODY_BYTES : LIMITS.bodyBytes;
  if (capBody(req, mostBytes, () => refuseBody({ req, res }, answer)).refused) return;
  const passOn = () => pass({ req, res }, { ...options, ...gate, next: counted(next), path });
  const failed = (error: unknown) => {
    const fields = { request_id: requestId, ip: req.headers[CLIENT_IP_HEADER], path, error: String(error) };
    options.log.error(fields, "request failed in the framework");
    if (res.headersSent) res.destroy();
    else refuse(res, { ...answer, code: "internal-error" });
  };
  if (!isSignIn(req, path)) {
    (isHealthPath(path) ? gate.healthTurns.run(path, { req, res }, passOn) : passOn()).catch(failed);
    return;
  }
  gate.signIns
    .admit(req, settings)
    .then((admitted) => {
      if (typeof admitted === "function") return holdUntilAnswered(res, passOn, admitted);
      if (admitted) refuse(res, { ...answer, ...admitted });
      req.resume();
    })
    .catch(failed);
}

/** Returns why a request is refused by its headers or because of its caller; null if it is not. */
function refusalOf(
  req: IncomingMessage,
  path: string,
  { gate, line }: { readonly gate: Gate; readonly line: string },
): Pick<HttpRefusal, "code" | "detail" | "headers"> | null {
  // Health routes take any host name, because probes use the address of the machine or container.
  const isHealth = isHealthPath(path);
  const hostProblem = isHealth ? null : gate.hostProblem(req.rawHeaders);
  if (hostProblem) return { code: hostProblem };
  if (hasManyCookies(req))
    return { code: "bad-request", detail: `A request may have at most ${MOST_COOKIES} cookies.` };
  return !isHealth && gate.unsent.isOver(line) ? MUCH_UNREAD : null;
}

interface Passage extends Pick<FrontOptions, "findAsset">, Pick<Gate, "pages"> {
  readonly next: NextHandler;
  readonly path: string;
}

/** Answers a request that passed the checks. Rejects when the framework fails. */
function pass({ req, res }: Exchange, { path, pages, next, findAsset }: Passage): Promise<void> {
  const isApi = isApiPath(path);
  if (isApi) sendLengths(res);
  else neverCachePages(res);
  return isApi || !pages ? next(req, res) : pages.answer({ req, res, path, next, findAsset });
}

function refusedByMethod(
  { req, res }: Exchange,
  path: string,
  answer: { instance: string; requestId: string },
): boolean {
  const allowed = isApiPath(path) ? allowedMethods(path) : PAGE_METHODS;
  if (allowed === null) {
    refuse(res, { ...answer, code: "not-found" });
  } else if (!allowed.includes(req.method ?? "")) {
    refuse(res, { ...answer, code: "method-not-allowed", headers: { allow: allowed.join(", ") } });
  } else if (req.method === "OPTIONS") {
    res.writeHead(204, { allow: allowed.join(", "), "cache-control": "private, no-store" }).end();
  } else {
    return false;
  }
  req.resume();
  return true;
}

const hasManyCookies = ({ headers }: IncomingMessage): boolean =>
  (headers.cookie ?? "").split(";", MOST_COOKIES + 1).length > MOST_COOKIES;

function warnWhenFull({ maxConnections, log }: FrontOptions): () => void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - warnedAt < WARN_EVERY_MS) return;
    warnedAt = performance.now();
    log.warn({ max_connections: maxConnections }, "connections refused: MAX_CONNECTIONS reached");
  };
}

function isApiPath(path: string): boolean {
  return path === "/api" || path.startsWith("/api/") || isHealthPath(path);
}

function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const isTooLong = error.code === "HPE_HEADER_OVERFLOW";
  refuseAndClose(socket, isTooLong ? "431 Request Header Fields Too Large" : "400 Bad Request");
}

/** Does not wait for the client to close, because a client that never closes would keep its connection forever. */
function refuseAndClose(socket: Socket, status: string): void {
  socket.write(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  socket.destroySoon();
}
