import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { startEmbedded } from "@/lib/db/embedded/index.mjs";

/** The same for all systems: durable commits, and no checkpoint in the middle of a round. */
const SETTINGS = { shared_buffers: "512MB", max_wal_size: "4GB", max_connections: "200" };

export interface BenchServer {
  readonly version: string;
  readonly secret: string;
  /** Of the postmaster. */
  readonly pid: number;
  /** Creates an empty database and returns its administrator's URL. */
  createDatabase(name: string): Promise<string>;
  /** Lists the statements that took most time since the last call, in databases with this name prefix. */
  topStatements(prefix: string): Promise<string[]>;
  stop(): Promise<void>;
}

/** Boots a throw-away PostgreSQL with durable commits; its data goes with it. */
export async function startServer(more: Readonly<Record<string, string>> = {}): Promise<BenchServer> {
  const home = mkdtempSync(path.join(tmpdir(), "leasehold-bench-"));
  chmodSync(home, 0o755); // under root, the server runs as another user
  const server = await startEmbedded({
    home,
    password: randomBytes(16).toString("hex"),
    pgBin: process.env.PG_BIN,
    settings: { ...SETTINGS, ...more },
  });
  const rows = await query<{ v: string }>(server.adminUrl(), "select current_setting('server_version') as v");
  return {
    pid: server.pid,
    version: rows[0]?.v ?? "",
    secret: randomBytes(32).toString("base64url"),
    createDatabase: async (name) => {
      await query(server.adminUrl(), `create database ${name}`);
      return server.adminUrl(name);
    },
    topStatements: (prefix) => topStatements(server.adminUrl(), prefix),
    stop: async () => {
      await server.stop();
      for (const folder of new Set([home, server.dir])) rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function topStatements(url: string, prefix: string): Promise<string[]> {
  await query(url, "create extension if not exists pg_stat_statements");
  const rows = await query<{ line: string }>(
    url,
    `select format('%s ms in %s calls, %s rows, %s ms of planning: %s', round(total_exec_time::numeric), calls, rows,
       round(total_plan_time::numeric), left(regexp_replace(s.query, '\\s+', ' ', 'g'), 110)) as line
     from pg_stat_statements s join pg_database d on d.oid = s.dbid
     where starts_with(d.datname, $1) order by total_exec_time desc limit 15`,
    [prefix],
  );
  await query(url, "select pg_stat_statements_reset()");
  return rows.map(({ line }) => line);
}

/** One statement on a connection of its own. */
export async function query<R extends pg.QueryResultRow>(url: string, text: string, values?: unknown[]): Promise<R[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<R>(text, values)).rows;
  } finally {
    await client.end();
  }
}
