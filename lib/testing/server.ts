import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { migrate } from "@/lib/db";
import { startEmbedded } from "@/lib/db/embedded/index.mjs";

export interface TestServer {
  readonly adminUrl: string;
  readonly secret: string;
  /** A migrated database to clone. */
  readonly template: string;
}

declare module "vitest" {
  export interface ProvidedContext {
    testServer: TestServer;
  }
}

const TEMPLATE = "leasehold_test_template";

interface Shared {
  readonly served: Promise<TestServer & { stop(): Promise<void> }>;
  users: number;
}

/** Each project of a run loads its own copy of this module; they share the global object. */
const run = globalThis as { leaseholdTestServer?: Shared | undefined };

/**
 * Starts a throw-away PostgreSQL for all projects of this test run. Its data folder is deleted after the last of them.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  run.leaseholdTestServer ??= { served: boot(), users: 0 };
  const shared = run.leaseholdTestServer;
  shared.users += 1;
  const { stop, ...server } = await shared.served;
  project.provide("testServer", server);
  return async () => {
    shared.users -= 1;
    if (shared.users > 0) return;
    run.leaseholdTestServer = undefined;
    await stop();
  };
}

async function boot(): Promise<TestServer & { stop(): Promise<void> }> {
  const home = mkdtempSync(path.join(tmpdir(), "leasehold-test-"));
  chmodSync(home, 0o755); // under root, the server runs as another user
  const server = await startEmbedded({
    home,
    password: randomBytes(16).toString("hex"),
    durable: false,
    pgBin: process.env.PG_BIN,
    settings: { max_connections: "400" },
  });
  const stop = async () => {
    await server.stop();
    for (const folder of new Set([home, server.dir])) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    return { ...(await prepareTemplate(server.adminUrl)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function prepareTemplate(urlOf: (database: string) => string): Promise<TestServer> {
  const secret = randomBytes(32).toString("base64url");
  await asAdmin(urlOf("postgres"), `create database ${TEMPLATE}`);
  await migrate({ adminUrl: urlOf(TEMPLATE), secret, log: () => {} });
  await asAdmin(urlOf("postgres"), `alter database ${TEMPLATE} is_template true allow_connections false`);
  return { adminUrl: urlOf("postgres"), secret, template: TEMPLATE };
}

async function asAdmin(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
