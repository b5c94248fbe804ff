import pg from "pg";
import { migrate } from "@/lib/db";
import type { EmbeddedServer } from "@/lib/db/embedded/index.mjs";
import type { TestServer } from "@/lib/testing/server";

const SECRET = "a secret of these tests alone, which opens nothing else";

/** Creates a migrated database to clone, on a server of the test's own that it may stop. */
export async function makeTemplate(server: EmbeddedServer): Promise<TestServer> {
  const template = "leasehold_test_template";
  const adminUrl = server.adminUrl("postgres");
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  await client.query(`create database ${template}`);
  await client.end();
  await migrate({ adminUrl: server.adminUrl(template), secret: SECRET, log: () => {} });
  return { adminUrl, secret: SECRET, template };
}
