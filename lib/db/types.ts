import type { NodePgDatabase } from "drizzle-orm/node-postgres";

/** The database roles of the processes; named `leasehold_<role>` on the server. */
export const APPLICATION_ROLES = ["web", "worker", "scheduler", "platform", "auth"] as const;
export type ApplicationRole = (typeof APPLICATION_ROLES)[number];
/** `admin` is for migrations, seeding and tests; no serving process uses it. */
export type DatabaseRole = ApplicationRole | "admin";

export type Row = Record<string, unknown>;

/** One named SQL text. The name includes a hash of the text, so two versions never share a prepared statement. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** True if running it twice is safe. Then it is resent if its connection breaks. */
  readonly repeatable: boolean;
  /** True if rows have instants as RFC 3339 text, as the API answers them, and not as Dates. */
  readonly answers?: boolean;
}

/** A pool or a transaction, for functions that only run statements. */
export interface Runner {
  /** Runs a statement and returns its rows. @throws DatabaseError and nothing else */
  run<R extends object = Row>(statement: Statement, values?: readonly unknown[]): Promise<R[]>;
  /** Drizzle over the same connections, for simple reads and writes. Its own `transaction` is refused. */
  readonly orm: NodePgDatabase;
}

export interface Transaction extends Runner {
  readonly inTransaction: true;
  /** Runs `work` in a savepoint: if it fails, only its own writes are rolled back, and the transaction can continue. */
  savepoint<T>(work: () => Promise<T>): Promise<T>;
  /** Runs `work` with the pool after this transaction has committed, and never if it did not. For wake-ups. */
  afterCommit(work: (db: Database) => void): void;
}

/** A transaction that reads and writes one tenant's rows only. Created only by `withTenant`. */
export interface TenantTransaction extends Transaction {
  readonly tenantId: string;
}

export interface PoolStats {
  readonly total: number;
  readonly idle: number;
  readonly waiting: number;
  readonly max: number;
  /** True if a prepared statement was lost in the last minute, so the pooler does not keep them. */
  readonly preparedLost: boolean;
}

export interface TransactionOptions {
  /**
   * How often the whole function may be retried after an error that certainly rolled it back (deadlock, serialization
   * failure, a connection lost before COMMIT). The function must be safe to repeat. Default 0.
   */
  readonly retries?: number;
}

export interface Database extends Runner {
  readonly role: DatabaseRole;
  /** Runs the function between BEGIN and COMMIT. Any error it throws rolls back and reaches the caller unchanged. */
  transaction<T>(fn: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Closes the pool. Connections that do not end within three seconds are destroyed. Safe to call twice. */
  close(): Promise<void>;
  stats(): PoolStats;
}

export interface OpenOptions {
  readonly url: string;
  readonly role: DatabaseRole;
  /** Maximum number of connections. */
  readonly max: number;
  /** Number of connections to keep open once opened, however long they are idle. Default 0. */
  readonly keep?: number;
  readonly applicationName: string;
  /** Called when an idle connection breaks. The pool replaces it. */
  readonly onError?: (error: Error) => void;
  /**
   * Use named prepared statements. Disable behind a pooler in transaction mode that does not keep them. Every process
   * sets this from DATABASE_PREPARE.
   */
  readonly prepare: boolean;
  /** Called once, with advice, when a prepared statement was lost. */
  readonly onPreparedLost?: (advice: string) => void;
  /** How long a caller waits for a connection. Default 2,500 ms, so that an HTTP 503 is sent within five seconds. */
  readonly acquireTimeoutMs?: number;
  /** How long the client waits for an answer before it drops the connection. Default 20,000 ms. */
  readonly queryTimeoutMs?: number;
}
