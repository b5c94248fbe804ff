import { type Database, migrate, type OpenOptions, openDatabase, roleUrl } from "@/lib/db";
import { createDefinition, SYSTEM, type TenantScope } from "@/lib/queue/testing";
import { type BenchServer, query } from "./server";

/** A database of Leasehold, and the secret of its logins. */
export interface Installation {
  readonly adminUrl: string;
  readonly secret: string;
}

type NewDefinition = Parameters<typeof createDefinition>[2];

/** Creates a database with the current schema and these definitions. */
export async function createInstallation(
  server: BenchServer,
  name: string,
  definitions: readonly NewDefinition[] = [{ key: "noop" }],
): Promise<Installation> {
  const installation = { adminUrl: await server.createDatabase(name), secret: server.secret };
  await migrate({ ...installation, log: () => {} });
  const platform = openPool(installation, "platform", { max: 1 });
  for (const definition of definitions) await createDefinition(platform, SYSTEM, definition);
  await platform.close();
  return installation;
}

/** Adds a tenant, and returns its scope. */
export async function addTenant({ adminUrl }: Installation): Promise<TenantScope> {
  const [tenant] = await query<{ id: string }>(
    adminUrl,
    "insert into app.tenants (slug, name) values ('bench', 'Bench') returning id",
  );
  return { tenantId: tenant?.id ?? "", actor: SYSTEM };
}

/** Opens a pool as the processes do, with prepared statements. */
export function openPool(
  { adminUrl, secret }: Installation,
  role: "web" | "worker" | "platform",
  size: Pick<OpenOptions, "max" | "queryTimeoutMs">,
): Database {
  const url = roleUrl(adminUrl, secret, role);
  return openDatabase({ url, role, ...size, prepare: true, applicationName: "leasehold bench" });
}
