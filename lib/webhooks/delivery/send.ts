import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction, Socket } from "node:net";
import { DEFAULT_CIPHERS, TLSSocket } from "node:tls";
import { RequestFilteringHttpAgent } from "request-filtering-agent";
import { type Failed, failureOf, type Phase } from "./failure";
import { readInPieces } from "./in-pieces";
import { PacedHttpsAgent } from "./paced-tls";
import { WEBHOOK_DELIVERY_LIMITS, type WebhookLimits, type WebhookPolicy } from "./policy";
import { type Address, resolveTarget } from "./resolve";
import { isRefusal, readTarget, type WebhookTarget } from "./target";

/** Most interim answers (1xx) before the final one; receivers send one or two. */
const MOST_INTERIM = 8;
/** Most chunks of a body: each takes a turn of the parser, also one of a byte. */
const MOST_CHUNKS = 4096;
/** Most bytes of a body that are kept. */
export const KEPT_BODY_BYTES = 8192;
/** Factor from body bytes to received bytes: a chunk of one byte takes six, and headers come on top. */
const FRAMING = 16;
/** Without finite-field Diffie-Hellman: a receiver would choose the numbers, and those of 10,000 bits take seconds. */
const CIPHERS = `${DEFAULT_CIPHERS}:!DHE`;

export interface Post {
  /** Whose delivery it is, because tenants share the time that TLS takes. */
  readonly tenantId: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly policy: WebhookPolicy;
  /** Aborted when the attempt has to stop. */
  readonly signal: AbortSignal;
  readonly limits?: WebhookLimits;
}

/** The result of a POST; `failed` is null when the receiver accepted it (2xx). */
export interface ReceiverAnswer {
  readonly statusCode: number | null;
  readonly failed: Failed | null;
  /** The beginning of the body. */
  readonly body: Buffer;
  readonly retryAfter: string | null;
  readonly durationMs: number;
}

/**
 * Posts once. Follows no redirect and keeps no connection. Connects only to the public addresses that were checked; the
 * agent checks them again. Reads at most `responseBytes` of a body, 4,096 chunks, 16 times `responseBytes` with headers
 * and framing, and 8 interim answers. Calls `onConnected` before it sends the first byte. Never rejects.
 */
export async function post(message: Post, onConnected: () => void = () => undefined): Promise<ReceiverAnswer> {
  const began = performance.now();
  const limits = message.limits ?? WEBHOOK_DELIVERY_LIMITS;
  const ended = (answer: Omit<ReceiverAnswer, "durationMs">) => ({
    ...answer,
    durationMs: Math.round(performance.now() - began),
  });
  const refused = (failed: Failed) => ended({ statusCode: null, failed, body: Buffer.alloc(0), retryAfter: null });
  const target = readTarget(message.url, message.policy);
  if (isRefusal(target)) return refused({ code: "blocked", detail: `the URL ${target.detail}` });
  const resolved = await resolveTarget(target, message.policy);
  if ("code" in resolved) {
    return refused({ code: resolved.code === "dns" ? "dns" : "blocked", detail: `the URL: ${resolved.detail}` });
  }
  if (message.signal.aborted) return refused({ code: "stopped", detail: "the attempt was stopped" });
  const left = { ...limits, totalMs: Math.max(1, limits.totalMs - (performance.now() - began)) };
  return ended(await new Exchange(message, { target, addresses: resolved, limits: left, onConnected }).run());
}

interface Route {
  readonly target: WebhookTarget;
  readonly addresses: readonly Address[];
  readonly limits: WebhookLimits;
  readonly onConnected: () => void;
}

/** One request on its own connection, under its time limits. */
class Exchange {
  private phase: Phase = "connect";
  private statusCode: number | null = null;
  private retryAfter: string | null = null;
  /** Copied, because each chunk of a byte takes a few hundred bytes. */
  private body: Buffer | undefined;
  private size = 0;
  private chunks = 0;
  private received = 0;
  private interim = 0;
  private connectTimer: NodeJS.Timeout | undefined;
  private resolve: (failed: Failed | null) => void = () => undefined;

  constructor(
    private readonly message: Post,
    private readonly route: Route,
  ) {}

  async run(): Promise<Omit<ReceiverAnswer, "durationMs">> {
    const { signal } = this.message;
    const { limits } = this.route;
    const done = new Promise<Failed | null>((resolve) => {
      this.resolve = resolve;
    });
    const request = this.open();
    const onAbort = () => this.resolve({ code: "stopped", detail: "the attempt was stopped" });
    signal.addEventListener("abort", onAbort, { once: true });
    const total = setTimeout(() => this.outOfTime(limits.totalMs), limits.totalMs);
    this.connectTimer = setTimeout(() => this.outOfTime(limits.connectMs), limits.connectMs);
    const failed = await done;
    clearTimeout(total);
    clearTimeout(this.connectTimer);
    signal.removeEventListener("abort", onAbort);
    request.on("error", () => undefined); // errors of a connection that is being closed no longer matter
    request.destroy();
    return { statusCode: this.statusCode, failed, body: this.kept(), retryAfter: this.retryAfter };
  }

  private open(): ClientRequest {
    const { url, host, port, isLoopback } = this.route.target;
    const isHttps = url.protocol === "https:";
    const filter = {
      keepAlive: false,
      maxSockets: 1,
      allowIPAddressList: isLoopback ? this.route.addresses.map(({ address }) => address) : [],
    };
    const request = (isHttps ? requestHttps : requestHttp)({
      method: "POST",
      host,
      port,
      path: url.pathname + url.search,
      headers: { ...this.message.headers, host: url.host, "content-length": Buffer.byteLength(this.message.body) },
      agent: isHttps ? this.agentOfTls(filter) : new RequestFilteringHttpAgent(filter),
      lookup: lookupOf(this.route.addresses),
      ...(isHttps ? { ciphers: CIPHERS } : {}),
    });
    request.on("socket", (socket) => {
      this.watch(socket);
      readInPieces(socket, (bytes) => this.count(request, bytes));
    });
    request.on("information", () => {
      this.interim += 1;
      if (this.interim <= MOST_INTERIM) return;
      this.cutOff(request, { code: "bad_response", detail: `it sent more than ${MOST_INTERIM} interim answers` });
    });
    request.on("upgrade", (_response, socket) => {
      this.cutOff(request, { code: "bad_response", detail: "it switched to another protocol" });
      socket.destroy(); // the request no longer owns this socket
    });
    request.on("response", (response) => this.read(request, response));
    request.on("error", (error) => this.resolve(failureOf(error, this.phase)));
    request.end(this.message.body);
    return request;
  }

  private agentOfTls(filter: ConstructorParameters<typeof PacedHttpsAgent>[0]): PacedHttpsAgent {
    return new PacedHttpsAgent(filter, {
      tenantId: this.message.tenantId,
      onConnecting: (socket) =>
        socket.once("connect", () => {
          this.route.onConnected();
          this.phase = "tls";
          this.connectTimer?.refresh();
        }),
      onWaited: () => {
        if (this.phase === "tls") this.connectTimer?.refresh();
      },
      onError: (error) => this.resolve(failureOf(error, this.phase)),
    });
  }

  private watch(socket: Socket): void {
    const isSecure = socket instanceof TLSSocket;
    socket.once(isSecure ? "secureConnect" : "connect", () => {
      if (!isSecure) this.route.onConnected();
      this.phase = "response";
      clearTimeout(this.connectTimer);
    });
  }

  /** Ends the exchange at once, because the parser would go on with bytes that were already received. */
  private cutOff(request: ClientRequest, failed: Failed): void {
    this.resolve(failed);
    request.destroy();
  }

  private count(request: ClientRequest, bytes: number): void {
    const most = FRAMING * this.route.limits.responseBytes;
    this.received += bytes;
    if (this.received <= most) return;
    this.cutOff(request, { code: "too_large", detail: `the answer has more than ${most} bytes with its framing` });
  }

  private read(request: ClientRequest, response: IncomingMessage): void {
    this.statusCode = response.statusCode ?? null;
    this.retryAfter = response.headers["retry-after"] ?? null;
    response.on("data", (chunk: Buffer) => this.take(request, chunk));
    response.on("error", (error) => this.resolve(failureOf(error, "response")));
    response.on("end", () => this.resolve(statusFailure(response)));
  }

  private take(request: ClientRequest, chunk: Buffer): void {
    const { responseBytes } = this.route.limits;
    this.body ??= Buffer.alloc(Math.min(KEPT_BODY_BYTES, responseBytes));
    if (this.size < this.body.length) chunk.copy(this.body, this.size);
    this.size += chunk.length;
    this.chunks += 1;
    if (this.chunks > MOST_CHUNKS) {
      this.cutOff(request, { code: "bad_response", detail: `it sent more than ${MOST_CHUNKS} chunks` });
    } else if (this.size > responseBytes) {
      this.cutOff(request, { code: "too_large", detail: `the answer has more than ${responseBytes} bytes` });
    }
  }

  private kept(): Buffer {
    return this.body?.subarray(0, this.size) ?? Buffer.alloc(0);
  }

  private outOfTime(ms: number): void {
    const seconds = Math.round(ms / 100) / 10;
    const said = {
      connect: { code: "connect_timeout", detail: `no connection in ${seconds} s` },
      tls: { code: "tls", detail: `the TLS handshake was not over in ${seconds} s` },
      response: { code: "response_timeout", detail: `no complete answer in ${seconds} s` },
    } as const;
    this.resolve(said[this.phase]);
  }
}

function statusFailure({ statusCode = 0, headers }: IncomingMessage): Failed | null {
  if (statusCode >= 200 && statusCode < 300) return null;
  if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
    return { code: "redirect", detail: `it answered ${statusCode} with another address; redirects are not followed` };
  }
  return { code: "http_status", detail: `it answered ${statusCode}` };
}

/** Returns a lookup function that answers with the checked addresses, without a further DNS query. */
function lookupOf(addresses: readonly Address[]): LookupFunction {
  const [first] = addresses;
  return (_host, options, callback) => {
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family);
  };
}
