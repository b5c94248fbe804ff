import pg from "pg";
import { type DatabaseError, toDatabaseError } from "./errors";
import { endWithin } from "./listen";
import type { Statement } from "./types";

const CONNECT_TIMEOUT_MS = 5000;
const ANSWER_TIMEOUT_MS = 4000;

export interface SessionOptions {
  /** A direct connection, because a pooler in transaction mode would share the session's locks. */
  readonly url: string;
  readonly applicationName: string;
  /** The server ends the session, and releases its locks, after this long without a statement. */
  readonly idleTimeoutSeconds: number;
  /** Called once, when the connection broke or the server ended it. */
  readonly onLost: (error: DatabaseError) => void;
}

/** A dedicated connection for session-level state, such as an advisory lock. */
export interface Session {
  run<R extends object>(statement: Statement, values?: readonly unknown[]): Promise<R[]>;
  close(): Promise<void>;
}

/**
 * Opens a session. Its locks are released when it ends, for any reason.
 * @throws DatabaseError when there is no connection
 */
export async function openDatabaseSession(options: SessionOptions): Promise<Session> {
  const client = new pg.Client({
    connectionString: options.url,
    application_name: options.applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    keepAlive: true,
  });
  let over = false;
  const lost = (error: unknown) => {
    if (over) return;
    over = true;
    options.onLost(toDatabaseError(error));
  };
  client.on("error", lost);
  client.on("end", () => lost(new Error("connection closed")));
  try {
    await client.connect();
    // Not a startup parameter, because PgBouncer refuses `options` or is configured to ignore them.
    await client.query(`set idle_session_timeout = ${Math.round(options.idleTimeoutSeconds * 1000)}`);
  } catch (error) {
    over = true;
    await endWithin(client, 500);
    throw toDatabaseError(error);
  }
  return {
    run: async <R extends object>({ text }: Statement, values: readonly unknown[] = []) => {
      try {
        return (await client.query<R & pg.QueryResultRow>(text, [...values])).rows;
      } catch (error) {
        throw toDatabaseError(error);
      }
    },
    close: async () => {
      over = true;
      await endWithin(client, 1000);
    },
  };
}
