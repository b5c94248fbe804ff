import { and, desc, eq, inArray, or, sql } from "drizzle-orm";
import { apiKeys, jobDefinitions, jobQueues, tenants } from "@/drizzle/schema";
import type { CreateWorkerKey, WorkerKey } from "@/lib/contract";
import { columnsOf, type Runner } from "@/lib/db";
import { generateApiKey } from "./api-key";

const LISTED = 1000;
const KEY = {
  ...columnsOf(apiKeys, "id", "name", "last4", "tenant_id", "created_at", "expires_at", "revoked_at", "last_used_at"),
  // A worker's key always names its definitions.
  definitions: sql<string[]>`${apiKeys.worker_definitions}`,
  queues: apiKeys.worker_queues,
};

/** A missing part of the requested scope; `pointer` is its position in the body. */
export interface MissingScope {
  readonly kind: "definition" | "queue" | "tenant";
  readonly pointer: string;
}

type Wish = Omit<CreateWorkerKey, "expires_in_days"> & { readonly expires_in_days: number };

/**
 * Creates a worker's key and returns it with its text, which is stored nowhere. Returns the missing parts of its scope
 * instead if there are any.
 */
export async function insertWorkerKey(
  db: Runner,
  wish: Wish,
  createdBy: string,
): Promise<(WorkerKey & { readonly key: string }) | readonly MissingScope[]> {
  const { name, definitions, expires_in_days } = wish;
  const queues = wish.queues ?? null;
  const tenant = wish.tenant ?? null;
  const known = await findScope(db, { definitions, queues: queues ?? [], tenant });
  const missing = [
    ...absent(definitions, known.definitions, "definition"),
    ...absent(queues ?? [], known.queues, "queue"),
    ...(tenant !== null && !known.tenant ? [{ kind: "tenant", pointer: "/tenant" } as const] : []),
  ];
  if (missing.length > 0) return missing;
  const { key, keyId, secretHash, last4 } = generateApiKey();
  const [made] = await db.orm
    .insert(apiKeys)
    .values({
      key_id: keyId,
      secret_hash: secretHash,
      last4,
      kind: "worker",
      tenant_id: known.tenant?.id ?? null,
      name,
      worker_definitions: [...new Set(definitions)].sort(),
      worker_queues: queues && [...new Set(queues)].sort(),
      created_by: createdBy,
      expires_at: sql`app.now() + make_interval(days => ${expires_in_days})`,
    })
    .returning(KEY);
  if (!made) throw new Error("the database returned no key");
  return { ...made, tenant_slug: known.tenant?.slug ?? null, key };
}

/** Returns what exists of a requested scope. */
async function findScope(
  db: Runner,
  { definitions, queues, tenant }: { definitions: readonly string[]; queues: readonly string[]; tenant: string | null },
) {
  const isRemote = and(inArray(jobDefinitions.key, [...definitions]), eq(jobDefinitions.executor, "remote"));
  const isNamed = or(eq(tenants.slug, tenant ?? ""), eq(sql`${tenants.id}::text`, tenant));
  const [knownDefinitions, knownQueues, [known]] = [
    await db.orm.select({ name: jobDefinitions.key }).from(jobDefinitions).where(isRemote),
    await db.orm
      .select({ name: jobQueues.name })
      .from(jobQueues)
      .where(inArray(jobQueues.name, [...queues])),
    await db.orm.select({ id: tenants.id, slug: tenants.slug }).from(tenants).where(isNamed).limit(1),
  ];
  const names = (rows: readonly { readonly name: string }[]) => rows.map(({ name }) => name);
  return { definitions: names(knownDefinitions), queues: names(knownQueues), tenant: known };
}

/** Returns all workers' keys, valid ones first; never their text. */
export function listWorkerKeys(db: Runner): Promise<WorkerKey[]> {
  return db.orm
    .select({ ...KEY, tenant_slug: tenants.slug })
    .from(apiKeys)
    .leftJoin(tenants, eq(tenants.id, apiKeys.tenant_id))
    .where(eq(apiKeys.kind, "worker"))
    .orderBy(sql`${apiKeys.revoked_at} is not null`, desc(apiKeys.created_at), apiKeys.id)
    .limit(LISTED);
}

/**
 * Revokes a worker's key from its next request on. Returns null when there is no such key. Revoking again is a no-op.
 */
export async function revokeWorkerKey(db: Runner, id: string): Promise<WorkerKey | null> {
  const [revoked] = await db.orm
    .update(apiKeys)
    .set({ revoked_at: sql`coalesce(${apiKeys.revoked_at}, app.now())` })
    .where(and(eq(apiKeys.id, id), eq(apiKeys.kind, "worker")))
    .returning(KEY);
  if (!revoked) return null;
  const [owner] =
    revoked.tenant_id === null
      ? []
      : await db.orm.select({ slug: tenants.slug }).from(tenants).where(eq(tenants.id, revoked.tenant_id));
  return { ...revoked, tenant_slug: owner?.slug ?? null };
}

function absent(wanted: readonly string[], known: readonly string[], kind: "definition" | "queue"): MissingScope[] {
  return wanted.flatMap((name, at) => (known.includes(name) ? [] : [{ kind, pointer: `/${kind}s/${at}` }]));
}
