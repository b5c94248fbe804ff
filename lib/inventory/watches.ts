import { type Runner, statement, type TenantTransaction, tenantIs } from "@/lib/db";

/** A registered folder that is watched. */
export interface WatchedFolder {
  readonly providerId: string;
  readonly tenantId: string;
  readonly name: string;
  readonly path: string;
  /** Fingerprint at the last published change; null if the folder was never read. */
  readonly fingerprint: Buffer | null;
}

/** The scheduler that watches, and the term in which it leads; as in lib/queue, which this room does not import. */
interface LeaderTerm {
  readonly leaderId: string;
  readonly term: number;
}

const listSql = statement(
  "list_watched_folders",
  `select p.id, p.tenant_id, p.name, p.path, w.fingerprint
   from app.providers p
   join app.tenants t on t.id = p.tenant_id and t.status = 'active'
   left join app.provider_watches w on w.tenant_id = p.tenant_id and w.provider_id = p.id
   where $1::uuid is null or p.id > $1 order by p.id limit $2`,
  { repeatable: true },
);

const LEADS = "exists (select from app.leader where leader_id = $3 and term = $4)";

/**
 * Locks the stored state of a folder. Returns no row if another state was stored meanwhile, the row is locked, or
 * another scheduler is the leader.
 */
const holdSql = statement(
  "hold_provider_watch",
  `select folders, extract(epoch from app.now() - changed_at)::float8 * 1000 as unchanged_ms from app.provider_watches
   where ${tenantIs("tenant_id")} and provider_id = $2 and fingerprint = $5 and ${LEADS} for update skip locked`,
);

const storeSql = statement(
  "store_provider_watch",
  `update app.provider_watches set folders = $3, fingerprint = $4, changed_at = app.now()
   where ${tenantIs("tenant_id")} and provider_id = $2`,
);

/** Stores the first state. The folder may have been removed since it was listed. */
const beginSql = statement(
  "begin_provider_watch",
  `insert into app.provider_watches (tenant_id, provider_id, folders, fingerprint)
   select p.tenant_id, p.id, $5, $6 from app.providers p where ${tenantIs("p.tenant_id")} and p.id = $2 and ${LEADS}
   on conflict do nothing`,
);

interface WatchRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly name: string;
  readonly path: string;
  readonly fingerprint: Buffer | null;
}

/** Lists the folders of active tenants by id, after `afterId`. `db` is the scheduler's. */
export async function listWatchedFolders(
  db: Runner,
  { afterId, limit }: { readonly afterId: string | null; readonly limit: number },
): Promise<WatchedFolder[]> {
  const rows = await db.run<WatchRow & Record<string, unknown>>(listSql, [afterId, limit]);
  return rows.map(({ id, tenant_id, ...row }) => ({ providerId: id, tenantId: tenant_id, ...row }));
}

interface Look {
  readonly folders: Buffer;
  readonly fingerprint: Buffer;
}

/** Stores the first state of a folder, if this scheduler is still the leader. */
export async function beginWatch(
  tx: TenantTransaction,
  { watched, look, leader }: { readonly watched: WatchedFolder; readonly look: Look; readonly leader: LeaderTerm },
): Promise<void> {
  const values = [tx.tenantId, watched.providerId, leader.leaderId, leader.term, look.folders, look.fingerprint];
  await tx.run(beginSql, values);
}

/** The previous state of a folder, and for how long it was unchanged. */
export interface LookBefore {
  readonly folders: Buffer;
  readonly unchangedMs: number;
}

/**
 * Replaces the state of a folder as it was listed, and returns that state. Returns null and stores nothing if the
 * stored state has changed since, is locked, or another scheduler is the leader. Holds the row's lock until the end of
 * the transaction.
 */
export async function replaceLook(
  tx: TenantTransaction,
  { watched, look, leader }: { readonly watched: WatchedFolder; readonly look: Look; readonly leader: LeaderTerm },
): Promise<LookBefore | null> {
  const key = [tx.tenantId, watched.providerId];
  const [held] = await tx.run<{ folders: Buffer; unchanged_ms: number }>(holdSql, [
    ...key,
    leader.leaderId,
    leader.term,
    watched.fingerprint,
  ]);
  if (!held) return null;
  await tx.run(storeSql, [...key, look.folders, look.fingerprint]);
  return { folders: held.folders, unchangedMs: held.unchanged_ms };
}
