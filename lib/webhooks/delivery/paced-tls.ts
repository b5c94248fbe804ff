import type { Socket, TcpNetConnectOpts } from "node:net";
import { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { RequestFilteringHttpAgent, RequestFilteringHttpsAgent } from "request-filtering-agent";
import { BoundedMap } from "@/lib/async/bounded-map";

/** Certificates of usual receivers take 3 to 8 KiB. */
const HANDSHAKE_BYTES = 16 * 1024;
/** Processor time of TLS, in milliseconds, that a tenant may use at once. A usual handshake takes 3. */
const AT_ONCE_MS = 250;
/** A tenant that used more gets 1 / SHARE of the thread's time. */
const SHARE = 3;

/** When each tenant's use of TLS will be within its share. */
const paidAt = new BoundedMap<string, number>(10_000);

/** The connection of one exchange. */
interface Watcher {
  readonly tenantId: string;
  /** Called before the connection is established. */
  readonly onConnecting: (socket: Socket) => void;
  /** Called when bytes have waited for the tenant's turn. */
  readonly onWaited: () => void;
  readonly onError: (error: Error) => void;
}

/** An agent for one request, whose connection paces TLS as `PacedSocket` does. */
export class PacedHttpsAgent extends RequestFilteringHttpsAgent {
  readonly #plain: RequestFilteringHttpAgent;

  constructor(
    filter: ConstructorParameters<typeof RequestFilteringHttpAgent>[0],
    private readonly watcher: Watcher,
  ) {
    super(filter);
    this.#plain = new RequestFilteringHttpAgent(filter);
  }

  override createConnection(options: TcpNetConnectOpts): Duplex {
    const socket = this.#plain.createConnection(options) as Socket;
    this.watcher.onConnecting(socket);
    let isSecure = false;
    const { tenantId, onWaited, onError } = this.watcher;
    const paced = new PacedSocket(socket, { tenantId, onWaited, isSecure: () => isSecure });
    paced.on("error", onError);
    const tls = super.createConnection({ ...options, socket: paced } as TcpNetConnectOpts);
    tls.once("secureConnect", () => {
      isSecure = true;
    });
    return tls.once("close", () => paced.destroy());
  }
}

/**
 * The connection below a TLS client, because a receiver chooses what checking its certificates costs. At most 16 KiB
 * arrive before the handshake is complete. A tenant may use 250 ms of processor time for TLS at once, then a third of
 * the thread; its further bytes wait.
 */
class PacedSocket extends Duplex {
  #received = 0;
  #waits = false;

  constructor(
    private readonly socket: Socket,
    private readonly options: Pick<Watcher, "tenantId" | "onWaited"> & { readonly isSecure: () => boolean },
  ) {
    super();
    socket.on("data", (bytes: Buffer) => void this.#take(bytes));
    socket.on("end", () => this.push(null));
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => this.destroy());
  }

  async #take(bytes: Buffer): Promise<void> {
    const { tenantId, isSecure, onWaited } = this.options;
    this.#received += bytes.length;
    if (this.#received > HANDSHAKE_BYTES && !isSecure()) {
      return void this.destroy(Object.assign(new Error("too many certificates"), { code: "CERT_CHAIN_TOO_LONG" }));
    }
    this.#waits = true;
    this.socket.pause();
    for (let ms = waitOf(tenantId); ms > 0; ms = waitOf(tenantId)) {
      await sleep(ms);
      onWaited();
    }
    this.#waits = false;
    if (this.destroyed) return;
    const [began, cpu] = [performance.now(), process.cpuUsage()];
    const wantsMore = this.push(bytes); // TLS reads the bytes within this call
    const { user, system } = process.cpuUsage(cpu);
    // Not the time of other threads, nor while the machine ran other programs.
    charge(tenantId, Math.min(performance.now() - began, (user + system) / 1000));
    if (wantsMore) this.socket.resume();
  }

  override _read(): void {
    if (!this.#waits) this.socket.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.socket.write(bytes, done);
  }

  override _final(done: () => void): void {
    this.socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.socket.destroy();
    done(error);
  }
}

function charge(tenantId: string, ms: number): void {
  const now = performance.now();
  paidAt.set(tenantId, Math.max(paidAt.get(tenantId) ?? 0, now) + SHARE * ms);
}

/** Milliseconds until a tenant has a turn. */
const waitOf = (tenantId: string): number =>
  Math.ceil((paidAt.get(tenantId) ?? 0) - SHARE * AT_ONCE_MS - performance.now());
