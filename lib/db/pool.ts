import pg from "pg";
import { failpoint, hasFailpoints } from "@/lib/env/test-build";
import { TurnLines } from "@/lib/turn-lines";
import { asUndone, DatabaseError, PREPARED_LOST, toAcquireError, toDatabaseError } from "./errors";
import { COMMON_LINE, currentLine } from "./in-line";
import { outsideTransactions } from "./network-guard";
import { jitter, waitMs } from "./pause";
import { stemOf } from "./statement";
import type { OpenOptions, PoolStats, Statement } from "./types";
import { answerTypes, valueTypes } from "./value-types";

const ACQUIRE_TIMEOUT_MS = 2500;
const QUERY_TIMEOUT_MS = 20_000;
const IDLE_TIMEOUT_MS = 30_000;
// A restarting or full server refuses at once, so connecting is retried for this long. Together with the acquire
// timeout this still leaves room for an HTTP answer within five seconds.
const ACQUIRE_PATIENCE_MS = 1500;
const CLOSE_GRACE_MS = 3000;
/** One in this many connections is reserved for other lines when one named line holds the rest. */
const KEPT_SHARE = 5;
/** How long after a lost prepared statement `stats` reports `preparedLost`. */
const LOST_FOR_MS = 60_000;

/** What to do about a pooler that does not keep prepared statements. */
export const PREPARED_LOST_ADVICE =
  "Prepared statements are lost between transactions, because a pooler in transaction mode does not keep them. " +
  "Use PgBouncer 1.21 or newer with max_prepared_statements above 0, or set DATABASE_PREPARE=false.";

/** pg's pool with two additions: broken connections are destroyed, and every error event is handled. */
export class ConnectionPool {
  readonly #pool: pg.Pool;
  readonly #clients = new Set<pg.PoolClient>();
  readonly #max: number;
  readonly #acquireTimeoutMs: number;
  /** One turn for each connection, because pg's own queue is first come, first served. */
  readonly #turns: TurnLines;
  readonly #prepare: boolean;
  readonly #onPreparedLost: OpenOptions["onPreparedLost"];
  #preparedLostAt: number | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: OpenOptions) {
    this.#onPreparedLost = options.onPreparedLost;
    this.#max = options.max;
    this.#acquireTimeoutMs = options.acquireTimeoutMs ?? ACQUIRE_TIMEOUT_MS;
    const ofNamed = Math.max(1, options.max - Math.ceil(options.max / KEPT_SHARE));
    this.#turns = new TurnLines({
      atOnce: options.max,
      ofLine: (name) => (name === COMMON_LINE ? options.max : ofNamed),
    });
    this.#prepare = options.prepare;
    this.#pool = new pg.Pool({
      connectionString: options.url,
      max: options.max,
      min: options.keep ?? 0,
      application_name: options.applicationName,
      connectionTimeoutMillis: this.#acquireTimeoutMs,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
      query_timeout: options.queryTimeoutMs ?? QUERY_TIMEOUT_MS,
      keepAlive: true,
      // A kept connection may be silent for hours. Firewalls forget it sooner, and the system's default first probe
      // comes after two hours.
      keepAliveInitialDelayMillis: IDLE_TIMEOUT_MS,
      types: valueTypes,
    });
    this.#pool.on("error", (error) => options.onError?.(toDatabaseError(error)));
    this.#pool.on("connect", (client) => {
      this.#clients.add(client);
      // A borrowed connection that breaks between two queries emits an error that has no other listener.
      client.on("error", () => {});
    });
    this.#pool.on("remove", (client) => this.#clients.delete(client));
  }

  /**
   * Waits for the turn of the current line (`runInLine`) and returns a connection, which the caller owns until
   * `release`.
   * @throws DatabaseError with `undone` set, because nothing was sent
   */
  async acquire(): Promise<Connection> {
    const giveUpAt = Date.now() + ACQUIRE_PATIENCE_MS;
    let leave = () => {};
    try {
      leave = await this.#turns.enter({ name: currentLine() }, this.#acquireTimeoutMs);
      const client = await this.#connect(giveUpAt);
      return new Connection(client, this.#prepare, { onPreparedLost: () => this.#preparedLost(), onRelease: leave });
    } catch (error) {
      leave();
      throw toAcquireError(error);
    }
  }

  async #connect(giveUpAt: number): Promise<pg.PoolClient> {
    for (;;) {
      try {
        return await outsideTransactions(() => this.#pool.connect());
      } catch (error) {
        if (this.#closing || !isWorthRetrying(error) || Date.now() >= giveUpAt) throw error;
      }
      await waitMs(jitter(150));
    }
  }

  stats(): PoolStats {
    const { totalCount: total, idleCount: idle, waitingCount } = this.#pool;
    const waiting = waitingCount + this.#turns.waiting;
    const lostAt = this.#preparedLostAt ?? Number.NEGATIVE_INFINITY;
    return { total, idle, waiting, max: this.#max, preparedLost: performance.now() - lostAt < LOST_FOR_MS };
  }

  #preparedLost(): void {
    if (this.#preparedLostAt === undefined) this.#onPreparedLost?.(PREPARED_LOST_ADVICE);
    this.#preparedLostAt = performance.now();
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    this.#turns.close(new Error("the pool is closed"));
    const cut = setTimeout(() => this.#clients.forEach(destroySocket), CLOSE_GRACE_MS);
    await this.#pool.end().catch(() => {});
    clearTimeout(cut);
  }
}

type TransactionCommand =
  | "begin"
  | "commit"
  | "rollback"
  | "savepoint part"
  | "release savepoint part"
  | "rollback to savepoint part";

/** One borrowed connection. Once broken it refuses further queries, and `release` destroys it instead of reusing it. */
export class Connection {
  readonly #client: pg.PoolClient;
  readonly #prepare: boolean;
  #broken = false;

  constructor(
    client: pg.PoolClient,
    prepare: boolean,
    private readonly hooks: { onPreparedLost(): void; onRelease(): void },
  ) {
    this.#client = client;
    this.#prepare = prepare;
  }

  get isBroken(): boolean {
    return this.#broken;
  }

  run<R extends object>({ name, text, answers }: Statement, values: readonly unknown[] = []): Promise<R[]> {
    const query = { text, values: [...values], types: answers ? answerTypes : valueTypes };
    const config = this.#prepare ? { name, ...query } : query;
    return this.send(() => passing(stemOf(name), () => this.#client.query<R & pg.QueryResultRow>(config))).then(
      (result) => result.rows,
    );
  }

  orm(config: { text: string }, values: unknown[]): Promise<pg.QueryResult> {
    return this.send(() => this.#client.query(config, values));
  }

  async send<T>(query: () => Promise<T>): Promise<T> {
    if (this.#broken) throw new DatabaseError({ kind: "unavailable", connectionLost: true });
    try {
      return await query();
    } catch (error) {
      const failure = toDatabaseError(error);
      if (failure.connectionLost) this.#broken = true;
      if (this.#prepare && PREPARED_LOST.has(failure.sqlState ?? "")) this.hooks.onPreparedLost();
      throw failure;
    }
  }

  /** Sends BEGIN, COMMIT, ROLLBACK or a savepoint command. Returns the command tag. */
  async command(text: TransactionCommand): Promise<string> {
    const result = await this.send(() => passing(text, () => this.#client.query(text)));
    return result.command;
  }

  destroyOnRelease(): void {
    this.#broken = true;
  }

  release(): void {
    // Releasing may open a connection for the next waiting caller.
    outsideTransactions(() => this.#client.release(this.#broken));
    this.hooks.onRelease();
  }
}

/** Sends a query past its three failpoints: before sending, while in flight, and after the answer. */
async function passing<T>(name: string, query: () => Promise<T>): Promise<T> {
  if (!hasFailpoints) return query();
  failpoint(`before:${name}`);
  const answer = query();
  setImmediate(failpoint, `sent:${name}`);
  const result = await answer;
  failpoint(`after:${name}`);
  return result;
}

/** Marks a failure before COMMIT as undone, because the server discards what a lost connection had not committed. */
export function beforeCommit(error: unknown): unknown {
  return error instanceof DatabaseError && error.connectionLost && !error.undone ? asUndone(error) : error;
}

function isWorthRetrying(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return (
    typeof code === "string" &&
    ["ECONNREFUSED", "ECONNRESET", "EPIPE", "ENOENT", "57P03", "57P01", "53300"].includes(code)
  );
}

function destroySocket(client: pg.PoolClient): void {
  (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection?.stream?.destroy();
}
