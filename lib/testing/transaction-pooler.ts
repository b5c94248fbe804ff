import { createServer, type Socket } from "node:net";
import pg from "pg";
import { onTestFinished } from "vitest";

/** Server connections for each login; a transaction takes the one that has been free the longest. */
const SERVERS = 2;
const TERMINATE = "X".charCodeAt(0);
const READY_FOR_QUERY = "Z".charCodeAt(0);
const NO_TRANSACTION = "I".charCodeAt(0);

export interface PoolerOptions {
  /** Returns the URL with which the pooler itself connects for a login. */
  readonly urlFor: (user: string) => string;
  /** Accepts the startup parameter `options` and ignores it, as PgBouncer's `ignore_startup_parameters` does. */
  readonly ignoreOptions?: boolean;
}

/**
 * Starts a pooler in transaction mode without support for prepared statements, like PgBouncer before 1.21: each
 * transaction runs on the next free one of two server connections. It asks clients for no password. Closed after the
 * test.
 * @returns a function that puts the pooler's address into a URL
 */
export async function startPooler(options: PoolerOptions): Promise<(url: string) => string> {
  const pools = new Map<string, ServerPool>();
  const sockets = new Set<Socket>();
  const poolOf = (user: string) => {
    const pool = pools.get(user) ?? new ServerPool(options.urlFor(user));
    pools.set(user, pool);
    return pool;
  };
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    const client = new PooledClient(socket, poolOf, options.ignoreOptions ?? false);
    const messages = new Messages((message) => client.take(message));
    socket.on("data", (chunk) => messages.push(chunk));
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    listener.close();
    await Promise.all([...pools.values()].map((pool) => pool.close()));
  });
  const { port } = listener.address() as { port: number };
  return (text) => {
    const url = new URL(text);
    url.hostname = "127.0.0.1";
    url.port = String(port);
    return url.href;
  };
}

interface Server {
  readonly socket: Socket;
  client: PooledClient | null;
}

/** The server connections of one login. */
class ServerPool {
  readonly #opening: readonly Promise<pg.Client>[];
  readonly #free: Server[] = [];
  readonly #waiting: ((server: Server) => void)[] = [];

  constructor(url: string) {
    this.#opening = Array.from({ length: SERVERS }, () => this.#open(url));
    for (const one of this.#opening) one.catch(() => {});
  }

  /** Waits until every server is open, so that the order in which they are assigned does not depend on chance. */
  async take(): Promise<Server> {
    await Promise.all(this.#opening);
    const server = this.#free.shift();
    return server ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  async close(): Promise<void> {
    for (const end of await Promise.allSettled(this.#opening))
      if (end.status === "fulfilled") streamOf(end.value).destroy();
  }

  /** pg logs in; afterwards the connection is used as a plain socket. */
  async #open(url: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url, application_name: "leasehold-test pooler" });
    client.on("error", () => {});
    await client.connect();
    const socket = streamOf(client);
    socket.removeAllListeners("data");
    const server: Server = { socket, client: null };
    const messages = new Messages((message) => this.#answered(server, message));
    messages.startupIsOver();
    socket.on("data", (chunk) => messages.push(chunk));
    this.#release(server);
    return client;
  }

  /** Messages from a server without a client, such as notifications, are dropped. */
  #answered(server: Server, message: Buffer): void {
    server.client?.socket.write(message);
    if (message[0] !== READY_FOR_QUERY || message[5] !== NO_TRANSACTION || !server.client) return;
    server.client.left();
    server.client = null;
    this.#release(server);
  }

  #release(server: Server): void {
    const next = this.#waiting.shift();
    if (next) next(server);
    else this.#free.push(server);
  }
}

/** A client's connection, which holds a server for the duration of a transaction. */
class PooledClient {
  #pool: ServerPool | undefined;
  #server: Server | undefined;
  #asked = false;
  #unsent: Buffer[] = [];

  constructor(
    readonly socket: Socket,
    private readonly poolOf: (user: string) => ServerPool,
    private readonly ignoreOptions: boolean,
  ) {}

  /** @returns true if this was the startup message, which has no type */
  take(message: Buffer): boolean {
    if (!this.#pool) {
      this.#begin(message);
      return true;
    }
    if (message[0] === TERMINATE) this.socket.end();
    else if (this.#server) this.#server.socket.write(message);
    else this.#wait(this.#pool, message);
    return false;
  }

  left(): void {
    this.#server = undefined;
  }

  #begin(message: Buffer): void {
    const words = message.subarray(8).toString().split("\0");
    if (words.includes("options") && !this.ignoreOptions) {
      return void this.socket.end(reply("E", "SFATAL\0C08P01\0Munsupported startup parameter: options\0\0"));
    }
    this.#pool = this.poolOf(words[words.indexOf("user") + 1] ?? "");
    const [authenticated, key, ready] = [reply("R", "\0\0\0\0"), reply("K", "\0\0\0\x01\0\0\0\x02"), reply("Z", "I")];
    this.socket.write(Buffer.concat([authenticated, key, ready]));
  }

  #wait(pool: ServerPool, message: Buffer): void {
    this.#unsent.push(message);
    if (this.#asked) return;
    this.#asked = true;
    void pool.take().then((server) => {
      this.#asked = false;
      this.#server = server;
      server.client = this;
      for (const unsent of this.#unsent) server.socket.write(unsent);
      this.#unsent = [];
    });
  }
}

/** Splits a stream into messages; a client's first message has no type before its length. */
class Messages {
  #rest = Buffer.alloc(0);
  #typed = 0;

  constructor(private readonly onMessage: (message: Buffer) => unknown) {}

  startupIsOver(): void {
    this.#typed = 1;
  }

  push(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= this.#typed + 4) {
      const length = this.#typed + this.#rest.readUInt32BE(this.#typed);
      if (this.#rest.length < length) return;
      const message = this.#rest.subarray(0, length);
      this.#rest = this.#rest.subarray(length);
      if (this.onMessage(message) === true) this.startupIsOver();
    }
  }
}

function reply(type: string, body: string): Buffer {
  const message = Buffer.alloc(5 + body.length);
  message.write(type, 0, "latin1");
  message.writeUInt32BE(4 + body.length, 1);
  message.write(body, 5, "latin1");
  return message;
}

const streamOf = (client: pg.Client): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;
