import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { API_KEY_SCOPES, type TenantRole } from "@/lib/contract";
import type { Database } from "@/lib/db";
import { dataDir } from "@/lib/db/embedded/index.mjs";
import { insertProvider, listProviders, moveProvider } from "@/lib/inventory/providers";
import { createDefinition, listDefinitions, SYSTEM } from "@/lib/queue";
import { seedTriggers } from "./demo-triggers";
import { newPassword, putApiKey, putMembership, putTenant, putUser, TENANT_SCOPES } from "./people.drizzle";
import { writeSamples } from "./samples/folder";

const TENANTS = { acme: "Acme Archive", globex: "Globex Media" } as const;
type TenantSlug = keyof typeof TENANTS;
const SLUGS = Object.keys(TENANTS) as TenantSlug[];

interface Person {
  readonly email: string;
  readonly name: string;
  readonly superAdmin?: boolean;
  readonly roles: Partial<Record<TenantSlug, TenantRole>>;
}

// The member works in both tenants, so that the tenant switcher has a choice.
const PEOPLE = {
  super_admin: { email: "root@leasehold.example", name: "Robin Root", superAdmin: true, roles: {} },
  acme_admin: { email: "ada@acme.example", name: "Ada Admin", roles: { acme: "admin" } },
  acme_member: { email: "max@acme.example", name: "Max Member", roles: { acme: "member", globex: "viewer" } },
  acme_viewer: { email: "vera@acme.example", name: "Vera Viewer", roles: { acme: "viewer" } },
  globex_admin: { email: "gil@globex.example", name: "Gil Globex", roles: { globex: "admin" } },
} as const satisfies Record<string, Person>;
type PersonName = keyof typeof PEOPLE;

/** The definition that the example in docs/examples/python runs. */
const REMOTE_DEFINITION = {
  key: "summarize-text",
  description: "Counts lines, words and characters of a text, on a remote worker (docs/examples/python)",
  executor: "remote",
  arg_schema: {
    type: "object",
    properties: { text: { type: "string", maxLength: 100_000 } },
    required: ["text"],
    additionalProperties: false,
  },
  timeout_seconds: 300,
} as const;

type Ids = Record<TenantSlug, string>;

/** Name of each tenant's registered sample folder. */
const SAMPLES = "samples";

/**
 * Creates the demo's tenants, people, keys, sample folders and triggers, and writes `demo.json` with the logins and
 * ids.
 */
export async function seedDemo(
  { db, web }: { db: Database; web: Database },
  { home, log }: { home: string; log: (line: string) => void },
): Promise<void> {
  const file = path.join(home, "demo.json");
  const tenants = await seedTenants(db);
  await seedRemoteDefinition(db);
  if (existsSync(file) && describesThese(file, tenants)) return followFolders(db, { home, file, tenants });
  const users = await seedPeople(db, tenants);
  const providers = await seedProviders(db, home);
  await seedTriggers(web, { tenantId: tenants.acme, providerId: providers.acme.id });
  const content = {
    tenants: Object.fromEntries(SLUGS.map((slug) => [slug, { id: tenants[slug], slug }])),
    users: users.logins,
    api_keys: await seedKeys(db, tenants, users.ids),
    providers,
  };
  writePrivate(file, `${JSON.stringify(content, null, 2)}\n`);
  log(`Demo data written; logins are in ${file}`);
}

// A demo.json of another database has to be replaced, and a matching one has to be kept at each start.
function describesThese(file: string, tenants: Ids): boolean {
  try {
    return JSON.parse(readFileSync(file, "utf8")).tenants.acme.id === tenants.acme;
  } catch {
    return false;
  }
}

async function seedRemoteDefinition(db: Database): Promise<void> {
  if ((await listDefinitions(db)).some(({ key }) => key === REMOTE_DEFINITION.key)) return;
  await createDefinition(db, SYSTEM, REMOTE_DEFINITION);
}

async function seedTenants(db: Database): Promise<Ids> {
  const pairs = await Promise.all(SLUGS.map(async (slug) => [slug, await putTenant(db, slug, TENANTS[slug])]));
  return Object.fromEntries(pairs) as Ids;
}

async function seedPeople(db: Database, tenants: Ids) {
  const seeded = await Promise.all(
    (Object.entries(PEOPLE) as [PersonName, Person][]).map(async ([key, person]) => {
      const password = newPassword();
      const id = await putUser(db, { ...person, password });
      for (const [slug, role] of Object.entries(person.roles) as [TenantSlug, TenantRole][]) {
        await putMembership(db, { tenantId: tenants[slug], userId: id, role });
      }
      return { key, id, login: { email: person.email, password } };
    }),
  );
  return {
    ids: Object.fromEntries(seeded.map(({ key, id }) => [key, id])) as Record<PersonName, string>,
    logins: Object.fromEntries(seeded.map(({ key, login }) => [key, login])),
  };
}

async function seedKeys(db: Database, tenants: Ids, users: Record<PersonName, string>) {
  const name = "demo";
  const forTenant = { kind: "tenant", name, scopes: TENANT_SCOPES } as const;
  return {
    acme: await putApiKey(db, { ...forTenant, tenantId: tenants.acme, createdBy: users.acme_admin }),
    globex: await putApiKey(db, { ...forTenant, tenantId: tenants.globex, createdBy: users.globex_admin }),
    super_admin: await putApiKey(db, {
      kind: "super_admin",
      name,
      tenantId: null,
      scopes: API_KEY_SCOPES,
      createdBy: users.super_admin,
    }),
    worker: await putApiKey(db, {
      kind: "worker",
      name,
      tenantId: null,
      scopes: [],
      createdBy: users.super_admin,
      definitions: [REMOTE_DEFINITION.key],
    }),
  };
}

/**
 * Registers the sample folders at their current path, in the database and in `demo.json`. They lie in the data folder,
 * which moves when the installation is renamed.
 */
async function followFolders(db: Database, { home, file, tenants }: { home: string; file: string; tenants: Ids }) {
  const demo = JSON.parse(readFileSync(file, "utf8"));
  const root = path.join(dataDir(home), "providers");
  for (const slug of SLUGS) {
    const folder = path.join(root, slug);
    if (demo.providers?.[slug]?.path === folder || !existsSync(folder)) continue;
    const moved = await moveProvider(db, { tenantId: tenants[slug], name: SAMPLES, path: folder });
    if (moved) demo.providers = { ...demo.providers, [slug]: moved };
  }
  writePrivate(file, `${JSON.stringify(demo, null, 2)}\n`);
}

async function seedProviders(db: Database, home: string) {
  const root = path.join(dataDir(home), "providers");
  const seeded = SLUGS.map(async (slug) => {
    const folder = path.join(root, slug);
    writeSamples(folder, slug === "acme" ? "large" : "small");
    const wanted = { tenant: slug, name: SAMPLES, kind: "folder", path: folder, createdBy: null } as const;
    const made = await insertProvider(db, wanted);
    const provider = typeof made === "string" ? await registered(db, slug) : made;
    return [slug, { id: provider.id, path: provider.path }];
  });
  return Object.fromEntries(await Promise.all(seeded)) as Record<TenantSlug, { id: string; path: string }>;
}

async function registered(db: Database, slug: string) {
  const found = (await listProviders(db, slug)).find(({ name }) => name === SAMPLES);
  if (!found) throw new Error(`the sample folder of ${slug} could not be registered`);
  return found;
}

function writePrivate(file: string, text: string): void {
  const half = `${file}.${process.pid}.tmp`;
  writeFileSync(half, text, { mode: 0o600 });
  renameSync(half, file);
}
