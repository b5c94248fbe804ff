import type { CreateWorkerKey, WorkerKey } from "@/lib/contract";
import { type Runner, statement } from "@/lib/db";
import { generateApiKey } from "./api-key";

const LISTED = 1000;

const VIEW = `k.id, k.name, k.last4, k.worker_definitions, k.worker_queues, k.tenant_id, t.slug as tenant_slug, k.created_at,
  k.expires_at, k.revoked_at, k.last_used_at`;

const findScope = statement(
  "platform_worker_key_scope",
  `select
     (select coalesce(array_agg(key), '{}') from app.job_definitions where key = any ($1::text[]) and executor = 'remote') as definitions,
     (select coalesce(array_agg(name), '{}') from app.job_queues where name = any ($2::text[])) as queues,
     (select id from app.tenants where slug = $3 or id::text = $3 limit 1) as tenant_id`,
);

const insertKey = statement(
  "platform_insert_worker_key",
  `with made as (
     insert into app.api_keys (key_id, secret_hash, last4, kind, tenant_id, name, worker_definitions, worker_queues,
       created_by, expires_at)
     values ($1, $2, $3, 'worker', $4, $5, $6, $7, $8, app.now() + make_interval(days => $9))
     returning id, name, last4, worker_definitions, worker_queues, tenant_id, created_at, expires_at, revoked_at, last_used_at)
   select ${VIEW} from made k left join app.tenants t on t.id = k.tenant_id`,
);

const listKeys = statement(
  "platform_list_worker_keys",
  `select ${VIEW} from app.api_keys k left join app.tenants t on t.id = k.tenant_id
   where k.kind = 'worker' order by k.revoked_at is not null, k.created_at desc, k.id limit $1`,
);

const revokeKey = statement(
  "platform_revoke_worker_key",
  `with gone as (
     update app.api_keys set revoked_at = coalesce(revoked_at, app.now()) where id = $1 and kind = 'worker'
     returning id, name, last4, worker_definitions, worker_queues, tenant_id, created_at, expires_at, revoked_at, last_used_at)
   select ${VIEW} from gone k left join app.tenants t on t.id = k.tenant_id`,
);

interface KeyRow extends Record<string, unknown> {
  id: string;
  name: string;
  last4: string;
  worker_definitions: string[];
  worker_queues: string[] | null;
  tenant_id: string | null;
  tenant_slug: string | null;
  created_at: Date;
  expires_at: Date;
  revoked_at: Date | null;
  last_used_at: Date | null;
}

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
  const [known] = await db.run<{ definitions: string[]; queues: string[]; tenant_id: string | null }>(findScope, [
    definitions,
    queues ?? [],
    tenant,
  ]);
  const missing = [
    ...absent(definitions, known?.definitions ?? [], "definition"),
    ...absent(queues ?? [], known?.queues ?? [], "queue"),
    ...(tenant !== null && !known?.tenant_id ? [{ kind: "tenant", pointer: "/tenant" } as const] : []),
  ];
  if (missing.length > 0) return missing;
  const { key, keyId, secretHash, last4 } = generateApiKey();
  const [row] = await db.run<KeyRow>(insertKey, [
    keyId,
    secretHash,
    last4,
    known?.tenant_id ?? null,
    name,
    [...new Set(definitions)].sort(),
    queues && [...new Set(queues)].sort(),
    createdBy,
    expires_in_days,
  ]);
  if (!row) throw new Error("the database returned no key");
  return { ...toWorkerKey(row), key };
}

/** Returns all workers' keys, valid ones first; never their text. */
export async function listWorkerKeys(db: Runner): Promise<WorkerKey[]> {
  return (await db.run<KeyRow>(listKeys, [LISTED])).map(toWorkerKey);
}

/**
 * Revokes a worker's key from its next request on. Returns null when there is no such key. Revoking again is a no-op.
 */
export async function revokeWorkerKey(db: Runner, id: string): Promise<WorkerKey | null> {
  const [row] = await db.run<KeyRow>(revokeKey, [id]);
  return row ? toWorkerKey(row) : null;
}

function absent(wanted: readonly string[], known: readonly string[], kind: "definition" | "queue"): MissingScope[] {
  return wanted.flatMap((name, at) => (known.includes(name) ? [] : [{ kind, pointer: `/${kind}s/${at}` }]));
}

function toWorkerKey(row: KeyRow): WorkerKey {
  return {
    id: row.id,
    name: row.name,
    last4: row.last4,
    definitions: row.worker_definitions,
    queues: row.worker_queues,
    tenant_id: row.tenant_id,
    tenant_slug: row.tenant_slug,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    revoked_at: row.revoked_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
  };
}
