import type { NodePgDatabase } from "drizzle-orm/node-postgres";

/** The processes' database roles; `leasehold_<role>` on the server. */
export const APPLICATION_ROLES = ["web", "worker", "scheduler", "platform", "auth"] as const;
export type ApplicationRole = (typeof APPLICATION_ROLES)[number];
/** `admin` is for migrations, seeding and tests; no serving process opens it. */
export type DatabaseRole = ApplicationRole | "admin";

export type Row = Record<string, unknown>;

/** One named SQL text. The name carries a hash of the text, so two versions never share a prepared statement. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** Reading it again does no harm: it is sent once more when the connection broke under it. */
  readonly repeatable: boolean;
}

/** A pool or a transaction: what a function needs that only runs statements. */
export interface Runner {
  /** Runs a statement and returns its rows. Throws {@link DatabaseError} and nothing else. */
  run<R extends object = Row>(statement: Statement, values?: readonly unknown[]): Promise<R[]>;
  /** Drizzle over the same connection(s), for plain reads and writes; its own `transaction` is refused. */
  readonly orm: NodePgDatabase;
}

export interface Transaction extends Runner {
  readonly inTransaction: true;
  /** Runs `work` so that its failure undoes only what it wrote itself, and the transaction can go on. */
  savepoint<T>(work: () => Promise<T>): Promise<T>;
  /** Runs `work` with the pool once this transaction has committed, and never if it did not. For wake-ups. */
  afterCommit(work: (db: Database) => void): void;
}

/** A transaction that sees and writes one tenant only; made by `withTenant` alone. */
export interface TenantTransaction extends Transaction {
  readonly tenantId: string;
}

export interface PoolStats {
  readonly total: number;
  readonly idle: number;
  readonly waiting: number;
  readonly max: number;
  /** A prepared statement was lost in the last minute, so a pooler does not keep them. */
  readonly preparedLost: boolean;
}

export interface TransactionOptions {
  /**
   * How often the whole function may run again after an error that surely undid it (deadlock, serialization,
   * a connection lost before COMMIT). The function must bear repetition. Default 0.
   */
  readonly retries?: number;
}

export interface Database extends Runner {
  readonly role: DatabaseRole;
  /** BEGIN, the function, COMMIT; whatever it throws rolls back and reaches the caller unchanged. */
  transaction<T>(fn: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Ends the pool; connections that do not end by themselves are cut after three seconds. Safe to call twice. */
  close(): Promise<void>;
  stats(): PoolStats;
}

export interface OpenOptions {
  readonly url: string;
  readonly role: DatabaseRole;
  /** Connections at most. */
  readonly max: number;
  /** So many connections are kept once they are open, however long nobody uses them. Default none. */
  readonly keep?: number;
  readonly applicationName: string;
  /** Hears of idle connections that broke; they are replaced by themselves. */
  readonly onError?: (error: Error) => void;
  /** Named prepared statements; switch off behind a pooler in transaction mode that does not keep them. Every process takes it from DATABASE_PREPARE. */
  readonly prepare: boolean;
  /** Called once, with what to do, when a prepared statement was lost. */
  readonly onPreparedLost?: (advice: string) => void;
  /** How long a caller waits for a connection. Default 2,500 ms, so that an HTTP 503 is out within five seconds. */
  readonly acquireTimeoutMs?: number;
  /** How long the client waits for one answer before it gives the connection up. Default 20,000 ms. */
  readonly queryTimeoutMs?: number;
}
