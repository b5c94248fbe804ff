import { DatabaseError } from "./errors";
import { asTransaction } from "./network-guard";
import { ormOver } from "./orm";
import { beforeCommit, type Connection, ConnectionPool } from "./pool";
import { repeatWhile } from "./retry";
import type { Database, OpenOptions, Row, Statement, Transaction, TransactionOptions } from "./types";

const STATEMENT_RETRIES = 3;
/** A read that Drizzle built. */
const READ = /^select\b/;

/**
 * Opens a pool for one role. The pool connects on first use, so opening never rejects. A single statement is retried
 * only if the server certainly rolled it back, or if it is `repeatable` (or a read by Drizzle) and its connection broke.
 */
export function openDatabase(options: OpenOptions): Database {
  const pool = new ConnectionPool(options);
  const onConnection = async <T>(use: (connection: Connection) => Promise<T>): Promise<T> => {
    const connection = await pool.acquire();
    try {
      return await use(connection);
    } finally {
      connection.release();
    }
  };
  const send = <T>(isRepeatable: boolean, use: (connection: Connection) => Promise<T>): Promise<T> =>
    repeatWhile(
      (error) => (error.undone && error.kind === "retryable") || (isRepeatable && error.connectionLost),
      STATEMENT_RETRIES,
      () => onConnection(use),
    );
  const database: Database = {
    role: options.role,
    run: <R extends object = Row>(statement: Statement, values?: readonly unknown[]) =>
      send(statement.repeatable, (connection) => connection.run<R>(statement, values)),
    orm: ormOver((config, values) => send(READ.test(config.text), (connection) => connection.orm(config, values))),
    transaction: async <T>(fn: (tx: Transaction) => Promise<T>, { retries = 0 }: TransactionOptions = {}) => {
      const { result, afterCommit } = await repeatWhile(
        (error) => error.undone,
        retries,
        () => onConnection((connection) => inTransaction(connection, fn)),
      );
      for (const work of afterCommit) work(database);
      return result;
    },
    close: () => pool.close(),
    stats: () => pool.stats(),
  };
  return database;
}

type AfterCommit = (db: Database) => void;

async function inTransaction<T>(
  connection: Connection,
  fn: (tx: Transaction) => Promise<T>,
): Promise<{ result: T; afterCommit: readonly AfterCommit[] }> {
  const scope = new TransactionScope(connection);
  let result: T;
  try {
    await connection.command("begin");
    result = await asTransaction(() => fn(scope.transaction));
  } catch (error) {
    scope.end();
    await rollBack(connection);
    throw beforeCommit(error);
  }
  scope.end();
  await commit(connection);
  return { result, afterCommit: scope.afterCommit };
}

async function commit(connection: Connection): Promise<void> {
  // A swallowed error leaves the transaction aborted. COMMIT then answers ROLLBACK without an error of its own.
  const outcome = await connection.command("commit");
  if (outcome === "ROLLBACK") {
    throw new DatabaseError({ kind: "other", sqlState: "25P02", undone: true, serverMessage: "rolled back at commit" });
  }
}

// Savepoints of one name shadow each other, so calls may nest.
async function inSavepoint<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  await connection.command("savepoint part");
  let result: T;
  try {
    result = await work();
  } catch (error) {
    if (!connection.isBroken) {
      await connection.command("rollback to savepoint part");
      await connection.command("release savepoint part");
    }
    throw error;
  }
  await connection.command("release savepoint part");
  return result;
}

/** Never throws, because the caller needs the error that caused the rollback. */
async function rollBack(connection: Connection): Promise<void> {
  if (connection.isBroken) return;
  try {
    await connection.command("rollback");
  } catch {
    connection.destroyOnRelease();
  }
}

/**
 * A transaction handle that rejects every call after its end, so a forgotten await cannot use the next borrower's
 * connection.
 */
class TransactionScope {
  readonly transaction: Transaction;
  readonly afterCommit: AfterCommit[] = [];
  #ended = false;

  constructor(connection: Connection) {
    const guarded = <T>(send: () => Promise<T>): Promise<T> =>
      this.#ended ? Promise.reject(new DatabaseError({ kind: "other", serverMessage: "transaction is over" })) : send();
    this.transaction = {
      inTransaction: true,
      savepoint: (work) => guarded(() => inSavepoint(connection, work)),
      afterCommit: (work) => void this.afterCommit.push(work),
      run: <R extends object = Row>(statement: Statement, values?: readonly unknown[]) =>
        guarded(() => connection.run<R>(statement, values)),
      orm: ormOver((config, values) => guarded(() => connection.orm(config, values))),
    };
  }

  end(): void {
    this.#ended = true;
  }
}
