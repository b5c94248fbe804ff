import { withDeadline } from "@/lib/async/deadline";
import { DatabaseError, withTenant } from "@/lib/db";
import { checkProviderPath } from "@/lib/inventory/provider-path";
import { compareLook, type FolderLook, packLook, readFolders } from "@/lib/inventory/read-folders";
import { beginWatch, listWatchedFolders, replaceLook, type WatchedFolder } from "@/lib/inventory/watches";
import { publishWatched, QueueError, SYSTEM } from "@/lib/queue/scheduler";
import { type ChangeBucket, ChangeBudget } from "./change-budget";
import type { Loop, TurnContext } from "./run-loops";
import { TimeShare } from "./time-share";

export interface WatchLimits {
  /** Folders per turn. */
  readonly page: number;
  /** Entries of a folder that are read. */
  readonly mostEntries: number;
  /** Time limit per folder. */
  readonly mostMs: number;
  /**
   * After a read, the folder rests this many times as long as the read took. So does a tenant whose reads took more
   * than `mostMs`.
   */
  readonly restFactor: number;
  /** How often the changes of one folder may be published. */
  readonly changes: readonly ChangeBucket[];
}

const LIMITS: WatchLimits = {
  page: 20,
  mostEntries: 10_000,
  mostMs: 2000,
  restFactor: 10,
  changes: [
    { most: 6, everyMs: 10_000 },
    { most: 120, everyMs: 30_000 },
  ],
};
/** Stuck reads at which no further read begins, because each occupies one of the few threads for files. */
const MOST_STUCK = 2;

/**
 * Reads registered folders and publishes `provider.folder.updated` for each that changed, in the transaction that
 * stores its new fingerprint. The first read publishes nothing. A folder that cannot be read is logged once, and is
 * compared with its last read when it is back. Each turn takes the next group of folders.
 *
 * A job that writes into the folder that triggered it would loop forever, and its files look like any others. So a
 * change that such a job may have made continues that job's chain (`publishWatched`). A folder that changes all the
 * time is read less often; the changes between two reads become one event.
 */
export function watchFolders(limits: Partial<WatchLimits> = {}): Loop["turn"] {
  const watch = new FolderWatch({ ...LIMITS, ...limits });
  return (turn) => watch.turn(turn);
}

class FolderWatch {
  #afterId: string | null = null;
  readonly #stuck = new Set<string>();
  readonly #problems = new Map<string, string>();
  readonly #notBefore = new Map<string, number>();
  /** When the last compared read began, by `performance.now()`. */
  readonly #lookedAt = new Map<string, number>();
  readonly #budgets = new Map<string, ChangeBudget>();
  readonly #share: TimeShare;

  constructor(private readonly limits: WatchLimits) {
    this.#share = new TimeShare({ burstMs: limits.mostMs, oneIn: limits.restFactor });
  }

  async turn(turn: TurnContext): Promise<{ readonly again: boolean }> {
    if (turn.providerRoots === undefined || turn.providerRoots.length === 0) return { again: false };
    if (this.#stuck.size >= MOST_STUCK) return { again: false };
    const { page } = this.limits;
    const folders = await listWatchedFolders(turn.db, { afterId: this.#afterId, limit: page });
    for (const folder of folders) {
      await this.#visit(turn, folder).catch((error: unknown) => logFailure(turn, { folder, error }));
    }
    const again = folders.length === page;
    this.#afterId = again ? (folders.at(-1)?.providerId ?? null) : null;
    return { again };
  }

  async #visit(turn: TurnContext, folder: WatchedFolder): Promise<void> {
    const { providerId, tenantId } = folder;
    const began = performance.now();
    if (this.#stuck.has(providerId) || began < (this.#notBefore.get(providerId) ?? 0)) return;
    if (!this.#share.mayBegin(tenantId, began)) return;
    let isPublished = false;
    try {
      isPublished = await this.#lookAndPublish(turn, { folder, began });
    } finally {
      // A failed read or publish has taken its time, too.
      const ended = performance.now();
      this.#share.took(tenantId, ended - began, ended);
      const rested = ended + (ended - began) * this.limits.restFactor;
      const allowed = isPublished ? this.#budgetOf(providerId, ended).spend(ended) : 0;
      this.#notBefore.set(providerId, Math.max(rested, allowed));
    }
  }

  #budgetOf(providerId: string, now: number): ChangeBudget {
    const budget = this.#budgets.get(providerId) ?? new ChangeBudget(this.limits.changes, now);
    this.#budgets.set(providerId, budget);
    return budget;
  }

  /** Reads a folder. Returns true if a change was published. */
  async #lookAndPublish(
    turn: TurnContext,
    { folder, began }: { readonly folder: WatchedFolder; readonly began: number },
  ): Promise<boolean> {
    const { providerId } = folder;
    const look = await this.#look(turn, folder);
    if (!look) return false;
    const isPublished = await publishChange(turn, { folder, look, lookedAt: this.#lookedAt.get(providerId) });
    this.#lookedAt.set(providerId, began);
    return isPublished;
  }

  async #look(turn: TurnContext, folder: WatchedFolder): Promise<FolderLook | null> {
    const { mostEntries, mostMs } = this.limits;
    const end = new AbortController();
    const key = folder.providerId;
    const reading = (async () => {
      const checked = await checkProviderPath(folder.path, turn.providerRoots ?? []);
      if (!checked.ok) throw new Error(checked.detail);
      return readFolders(checked.path, { mostEntries, signal: end.signal });
    })();
    reading.catch(() => undefined).finally(() => this.#stuck.delete(key));
    try {
      const look = await withDeadline(reading, mostMs, () => {
        this.#stuck.add(key);
        end.abort(new Error(`it could not be read within ${mostMs} ms`));
        throw end.signal.reason;
      });
      this.#problems.delete(key);
      return look;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (this.#problems.get(key) !== problem)
        turn.log.warn({ provider_id: key, tenant_id: folder.tenantId, err: error }, "a folder cannot be watched");
      this.#problems.set(key, problem);
      return null;
    }
  }
}

interface Seen {
  readonly folder: WatchedFolder;
  readonly look: FolderLook;
  /** When the previous read began, by `performance.now()`; undefined if another process made it. */
  readonly lookedAt: number | undefined;
}

/** Publishes what changed in a folder. Returns true if there was a change. */
async function publishChange(
  { web, leader, log, eventMaxDepth }: TurnContext,
  { folder, look, lookedAt }: Seen,
): Promise<boolean> {
  const { tenantId, providerId, name, fingerprint } = folder;
  const packed = packLook(look);
  if (fingerprint && packed.fingerprint.equals(fingerprint)) return false;
  return withTenant(web, tenantId, async (tx) => {
    const looked = { watched: folder, look: packed, leader };
    if (!fingerprint) {
      await beginWatch(tx, looked);
      return false;
    }
    const before = await replaceLook(tx, looked);
    if (!before) return false;
    const { folderPath, folders } = compareLook(before.folders, look);
    const data = { provider_id: providerId, provider_name: name, folder_path: folderPath, changed_folders: folders };
    const event = { name: "provider.folder.updated", source: "scheduler", data } as const;
    const sinceMs = lookedAt === undefined ? before.unchangedMs : performance.now() - lookedAt;
    const change = { event, sinceMs, maxDepth: eventMaxDepth };
    const held = await publishWatched(tx, { tenantId, actor: SYSTEM }, change);
    const fields = { provider_id: providerId, tenant_id: tenantId, trigger_ids: held };
    if (held.length > 0) log.warn(fields, "loop suspected, the folder's change is held");
    return true;
  });
}

/** Logs a failed folder, so that the others go on. Rethrows when the database is down. */
function logFailure(
  turn: TurnContext,
  { folder, error }: { readonly folder: WatchedFolder; readonly error: unknown },
): void {
  if (error instanceof DatabaseError && (error.kind === "unavailable" || error.connectionLost)) throw error;
  // The tenant was suspended after the folder was listed: the folder is skipped.
  if (error instanceof QueueError && error.code === "tenant-suspended") return;
  const { providerId: provider_id, tenantId: tenant_id } = folder;
  turn.log.error({ provider_id, tenant_id, err: error }, "a folder's change could not be published");
}
