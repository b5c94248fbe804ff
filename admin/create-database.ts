import { openDatabase, statement } from "@/lib/db";

const exists = statement("admin_database_exists", "select 1 as found from pg_database where datname = $1");

/** Creates the database in the URL if the server does not have it. Several processes may try at once. */
export async function ensureDatabase(adminUrl: string): Promise<void> {
  const url = new URL(adminUrl);
  const name = decodeURIComponent(url.pathname.slice(1));
  url.pathname = "/postgres";
  const server = openDatabase({
    url: url.href,
    prepare: false,
    role: "admin",
    max: 1,
    applicationName: "leasehold admin",
  });
  try {
    if ((await server.run(exists, [name])).length > 0) return;
    await server.run(statement("admin_create_database", `create database "${name.replaceAll('"', '""')}"`));
  } catch (error) {
    // Another process was faster, or the login may not read the maintenance database: then the migration reports it.
    if ((error as { kind?: string }).kind === "unavailable") throw error;
  } finally {
    await server.close();
  }
}
