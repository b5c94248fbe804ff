/*
 * Helpers of the tests: databases, processes, factories, and the independent checks of the queue. Every test file gets
 * a migrated database of its own; nothing here touches a database that the tests did not create.
 *
 * Start with this file, then `rows/factories.ts` (tenants, definitions and jobs) and `processes.ts` (real processes).
 * `checker/` inspects the tables after faults, `model/` compares the queue with a model, `schedule-oracle/` compares
 * schedules with a clock read minute by minute, and `measure/` measures cost and pauses.
 */

import { randomBytes } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";
import { type DatabaseRole, roleUrl } from "@/lib/db";
import type { TestServer } from "./server";
import { whenDone } from "./when-done";

const OWN_NAME = /^leasehold_test_[a-z0-9]{12}$/;
const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

export interface TestDatabase {
  readonly name: string;
  /** Superuser of this database. For set-up and inspection, never for the code under test. */
  readonly adminUrl: string;
  readonly secret: string;
  urlFor(role: DatabaseRole): string;
  /** Moves the clock of this database, for all processes at once, to real time plus `offsetMs`. */
  moveClock(offsetMs: number): Promise<void>;
  /** Runs one statement as the administrator. */
  query<R extends pg.QueryResultRow = pg.QueryResultRow>(text: string, values?: unknown[]): Promise<R[]>;
  drop(): Promise<void>;
}

/** Creates a migrated database for the calling test or test file. Dropped when the test or file is done. */
export async function testDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase(inject("testServer"));
  whenDone(() => database.drop());
  return database;
}

/** The same as `testDatabase`, for callers that drop it themselves. */
export async function createTestDatabase(server: TestServer): Promise<TestDatabase> {
  const name = `leasehold_test_${randomBytes(6).toString("hex")}`;
  const serverUrl = withDatabase(server.adminUrl, "postgres");
  const adminUrl = withDatabase(server.adminUrl, name);
  assertOwnDatabase(adminUrl);
  await runOnce(serverUrl, `create database ${name} template ${server.template}`);
  const query = <R extends pg.QueryResultRow>(text: string, values?: unknown[]) => runOnce<R>(adminUrl, text, values);
  return {
    name,
    adminUrl,
    secret: server.secret,
    urlFor: (role) => roleUrl(adminUrl, server.secret, role),
    query,
    moveClock: async (offsetMs) => void (await query(clockWithOffset(offsetMs))),
    drop: async () => void (await runOnce(serverUrl, `drop database if exists ${name} with (force)`)),
  };
}

/** Throws unless the URL names a database that these tests created on this machine. */
export function assertOwnDatabase(url: string): void {
  const { hostname, pathname } = new URL(url);
  if (!LOOPBACK.has(hostname)) throw new Error("Tests run on a local database only.");
  if (!OWN_NAME.test(pathname.slice(1))) throw new Error("Tests run on databases of their own only.");
}

function clockWithOffset(offsetMs: number): string {
  const ms = Math.round(offsetMs);
  return `create or replace function app.now() returns timestamptz language sql stable parallel safe
    as $$ select now() + interval '${ms} milliseconds' $$`;
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

async function runOnce<R extends pg.QueryResultRow>(url: string, text: string, values?: unknown[]): Promise<R[]> {
  const client = new pg.Client({ connectionString: url, application_name: "leasehold-test" });
  client.on("error", () => {}); // dropping a database ends its connections
  await client.connect();
  try {
    return (await client.query<R>(text, values)).rows;
  } finally {
    await client.end();
  }
}
