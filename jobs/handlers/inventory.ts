import { statement, tenantIs } from "@/lib/db";
import type { HandlerContext } from "@/lib/execution";

/** The effect of a job on a file's row. */
export type Change = "added" | "changed" | "unchanged";

/** A regular file, or an entry that exists but could not be read. */
export type FileRow =
  | {
      readonly path: string;
      readonly size: number;
      readonly sha256: string;
      readonly mediaType: string;
      readonly modifiedMs: number;
    }
  | { readonly kept: string; readonly isFolder: boolean };

const nowSql = statement("inventory_now", "select app.now()::text as now", { repeatable: true });

/**
 * Writes a batch of files and returns the effect on each. A row that this job already touched keeps its first effect,
 * so a repeated attempt counts like the first. updated_at moves only when the file differs. seen_at is never before the
 * walk's begin, `$5`, although the clock may be set back during the walk.
 */
const recordSql = statement(
  "inventory_record",
  `insert into app.assets as a
     (tenant_id, provider_id, path, path_hash, size, sha256, media_type, modified_at, seen_in, seen_at, change)
   select $1::uuid, $2::uuid, f.path, sha256(convert_to(f.path, 'UTF8')), f.size, f.sha256, f.media_type,
     to_timestamp(f.modified_ms / 1000), $3::uuid, greatest(app.now(), $5::text::timestamptz), 'added'
   from jsonb_to_recordset($4::jsonb)
     as f(path text, size bigint, sha256 text, media_type text, modified_ms double precision)
   on conflict (tenant_id, provider_id, path_hash) do update set
     size = excluded.size, sha256 = excluded.sha256, media_type = excluded.media_type,
     modified_at = excluded.modified_at, seen_in = excluded.seen_in, seen_at = excluded.seen_at,
     change = case
       when a.seen_in = excluded.seen_in and a.change <> 'unchanged' then a.change
       when a.sha256 = excluded.sha256 then 'unchanged' else 'changed' end,
     updated_at = case
       when (a.size, a.sha256, a.media_type, a.modified_at)
         is distinct from (excluded.size, excluded.sha256, excluded.media_type, excluded.modified_at)
       then app.now() else a.updated_at end
   returning a.change, a.media_type like 'image/%' as is_image`,
);

/** Marks unreadable entries as seen, as above: a file by its path, a folder with all known files below it. */
const keepSql = statement(
  "inventory_keep",
  `update app.assets a set seen_in = $3::uuid, seen_at = greatest(app.now(), $6::text::timestamptz),
     change = case when a.seen_in = $3::uuid then a.change else 'unchanged' end
   where ${tenantIs("a.tenant_id")} and a.provider_id = $2 and (
     a.path_hash in (select sha256(convert_to(p, 'UTF8')) from unnest($4::text[]) as p)
     or exists (select from unnest($5::text[]) as d where d = '' or starts_with(a.path, d || '/')))`,
);

/**
 * Removes rows of the walked folder that no walk has seen since this one began; another job that walks the same folder
 * may have seen more. A row that this job itself added in an earlier attempt counts as never there.
 */
const removeSql = statement(
  "inventory_remove",
  `with gone as (
     delete from app.assets where ctid = any(array(
       select ctid from app.assets
       where ${tenantIs("tenant_id")} and provider_id = $2 and seen_at < $4::text::timestamptz
         and ($5 = '' or path = $5 or starts_with(path, $5 || '/'))
       limit $6))
       and ${tenantIs("tenant_id")}
     returning seen_in, change)
   select count(*)::int as found, (count(*) filter (where seen_in <> $3::uuid or change <> 'added'))::int as removed from gone`,
);

/** Counts of written rows: by effect on files, and on those that are images. */
export interface Recorded {
  readonly files: Readonly<Record<Change, number>>;
  readonly images: Readonly<Record<Change, number>>;
}

const NONE: Readonly<Record<Change, number>> = { added: 0, changed: 0, unchanged: 0 };

const REMOVE_AT_ONCE = 20_000;
const EARLIEST_MS = Date.UTC(1, 0, 1);
const LATEST_MS = Date.UTC(9999, 11, 31);

/** The rows of one provider's folder, as one job brings them up to date. */
export class Inventory {
  readonly #ctx: HandlerContext<unknown>;
  readonly #providerId: string;
  readonly #prefix: string;
  #begunAt = "";

  constructor(ctx: HandlerContext<unknown>, { providerId, prefix }: { providerId: string; prefix: string }) {
    this.#ctx = ctx;
    this.#providerId = providerId;
    this.#prefix = prefix;
  }

  /** Records the database's time. Rows that are not seen after it will be removed. */
  async begin(): Promise<void> {
    const [row] = await this.#ctx.transaction((tx) => tx.run<{ now: string }>(nowSql));
    this.#begunAt = row?.now ?? "";
  }

  /** Writes a batch in one transaction and returns its counts. */
  async record(rows: readonly FileRow[]): Promise<Recorded> {
    // A folder that was renamed during the walk can show a file twice.
    const files = new Map(rows.flatMap((row) => ("path" in row ? [[row.path, toColumns(row)] as const] : [])));
    const kept = rows.filter((row) => "kept" in row);
    return this.#ctx.transaction(async (tx) => {
      const key = [tx.tenantId, this.#providerId, this.#ctx.jobId];
      const counts = { files: { ...NONE }, images: { ...NONE } };
      if (files.size > 0) {
        const written = [...key, JSON.stringify([...files.values()]), this.#begunAt];
        for (const { change, is_image } of await tx.run<{ change: Change; is_image: boolean }>(recordSql, written)) {
          counts.files[change] += 1;
          if (is_image) counts.images[change] += 1;
        }
      }
      if (kept.length > 0) {
        const folders = kept.filter((row) => row.isFolder).map((row) => row.kept);
        await tx.run(keepSql, [...key, kept.map((row) => row.kept), folders, this.#begunAt]);
      }
      return counts;
    });
  }

  /** Removes rows of files that are gone and returns how many. Call it only after a complete walk. */
  async removeUnseen(): Promise<number> {
    return this.#ctx.transaction(async (tx) => {
      const values = [tx.tenantId, this.#providerId, this.#ctx.jobId, this.#begunAt, this.#prefix, REMOVE_AT_ONCE];
      for (let removed = 0; ; ) {
        const [batch] = await tx.run<{ found: number; removed: number }>(removeSql, values);
        removed += batch?.removed ?? 0;
        if ((batch?.found ?? 0) < REMOVE_AT_ONCE) return removed;
      }
    });
  }
}

function toColumns(file: Extract<FileRow, { path: string }>) {
  const modifiedMs = Math.max(EARLIEST_MS, Math.min(LATEST_MS, file.modifiedMs));
  return { path: file.path, size: file.size, sha256: file.sha256, media_type: file.mediaType, modified_ms: modifiedMs };
}
