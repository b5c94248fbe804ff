import pg from "pg";
import { withDeadline } from "@/lib/async/deadline";
import { DatabaseError, toDatabaseError } from "./errors";
import { jitter } from "./pause";

const FIRST_RETRY_MS = 200;
const MAX_RETRY_MS = 10_000;
const KEEPALIVE_MS = 30_000;
const ANSWER_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5000;

export interface ListenOptions {
  /** A direct connection, because a pooler in transaction mode drops LISTEN. */
  readonly url: string;
  readonly channels: readonly string[];
  readonly applicationName?: string;
  readonly onNotify: (channel: string, payload: string) => void;
  /** Called after each connect. Notifications sent while disconnected are lost, so poll everything. */
  readonly onReady: () => void;
  readonly onError?: (error: DatabaseError) => void;
}

export interface NotifyListener {
  /** Closes the connection for good, and resolves once it is closed. */
  close(): Promise<void>;
}

/** Listens on a connection of its own. Reconnects whenever it breaks, with jittered exponential backoff. */
export function listen(options: ListenOptions): NotifyListener {
  const session = new ListenSession(options);
  session.start();
  return { close: () => session.close() };
}

class ListenSession {
  readonly #options: ListenOptions;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #closed = false;

  constructor(options: ListenOptions) {
    for (const channel of options.channels) {
      if (!/^[a-z_]+$/.test(channel)) throw new DatabaseError({ kind: "invalid", serverMessage: "channel name" });
    }
    this.#options = options;
  }

  start(): void {
    const client = new pg.Client({
      connectionString: this.#options.url,
      application_name: this.#options.applicationName ?? "leasehold listener",
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: ANSWER_TIMEOUT_MS,
      keepAlive: true,
    });
    this.#client = client;
    client.on("error", (error) => this.#broke(client, error));
    client.on("end", () => this.#broke(client, new Error("connection closed")));
    client.on("notification", ({ channel, payload }) =>
      this.#callBack(() => this.#options.onNotify(channel, payload ?? "")),
    );
    this.#open(client).catch((error: unknown) => this.#broke(client, error));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    if (client) await endWithin(client, 2000);
  }

  async #open(client: pg.Client): Promise<void> {
    await client.connect();
    await client.query(this.#options.channels.map((channel) => `listen ${channel}`).join(";"));
    if (this.#client !== client) return;
    this.#failures = 0;
    this.#keepAlive(client);
    this.#callBack(this.#options.onReady);
  }

  // A peer that vanished silently is noticed only by a query.
  #keepAlive(client: pg.Client): void {
    this.#timer = setTimeout(() => {
      client.query("select 1").then(
        () => this.#client === client && this.#keepAlive(client),
        (error: unknown) => this.#broke(client, error),
      );
    }, KEEPALIVE_MS);
  }

  #broke(client: pg.Client, error: unknown): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    clearTimeout(this.#timer);
    void endWithin(client, 1000);
    if (this.#closed) return;
    this.#callBack(() => this.#options.onError?.(toDatabaseError(error)));
    this.#timer = setTimeout(() => this.start(), jitter(Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#failures)));
    this.#failures += 1;
  }

  // A callback that throws must not break the connection or the process.
  #callBack(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.onError?.(new DatabaseError({ kind: "other", serverMessage: String(error) }));
    }
  }
}

/** Ends the connection gracefully, and destroys its socket if the server does not answer within `ms`. */
export async function endWithin(client: pg.Client, ms: number): Promise<void> {
  const stream = (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection?.stream;
  await withDeadline(
    client.end().catch(() => {}),
    ms,
    () => stream?.destroy(),
  );
}
