import { defineJob, JobError, normalizeRelative } from "@/lib/execution";
import { type FileRow, Inventory } from "./inventory";
import { folderPayload } from "./payloads";

const BATCH_ROWS = 500;
/** Limit on the paths in a batch, because a batch is written as one JSON text. */
const BATCH_CHARS = 256 * 1024;
const CHANGES = ["added", "changed", "unchanged"] as const;

/**
 * Brings the inventory of a provider's folder up to date.
 *
 * Its figures describe the whole job, even when an attempt failed half-way. A row remembers the job's effect on it, so
 * a file that an earlier attempt added counts as added, not as unchanged. Removal comes last, in one transaction. Only
 * if the worker dies between that commit and the end of the attempt does the next attempt miss those removals in its
 * figures.
 *
 * A job that added or changed an image publishes `images.ingest.completed`, once per run, before it ends.
 *
 * Entries that exist but cannot be read are skipped and counted, and their rows stay as they were. Rows of files that
 * are gone, or became links or pipes, are removed.
 */
export const syncFolder = defineJob({
  key: "sync-folder",
  description: "Brings the inventory of a registered folder up to date: path, size, SHA-256, media type, time.",
  schema: folderPayload,
  async run(ctx) {
    const prefix = normalizeRelative(ctx.payload.path_prefix ?? "");
    const inventory = new Inventory(ctx, { providerId: ctx.payload.provider_id, prefix });
    await inventory.begin();
    const args = { provider_id: ctx.payload.provider_id, ...(prefix === "" ? {} : { path_prefix: prefix }) };
    const walk = ctx.command("walk-folder", args, { rows: true });
    const counts = { added: 0, changed: 0, unchanged: 0 };
    const images = { added: 0, changed: 0, unchanged: 0 };
    for await (const batch of batches(walk.rows)) {
      const recorded = await inventory.record(batch);
      for (const change of CHANGES) {
        counts[change] += recorded.files[change];
        images[change] += recorded.images[change];
      }
    }
    const { files, bytes, skipped } = parseFound(await walk.result);
    const removed = await inventory.removeUnseen();
    const { added, changed, unchanged } = counts;
    ctx.log(`${files} files: ${added} added, ${changed} changed, ${unchanged} unchanged; ${removed} removed`);
    if (images.added + images.changed > 0) {
      const where = { provider_id: ctx.payload.provider_id, folder_path: prefix };
      const data = { ...where, images_added: images.added, images_changed: images.changed, added, changed, removed };
      await ctx.publishEvent({ name: "images.ingest.completed", data: { ...data, job_id: ctx.jobId } });
    }
    return { scanned: files, added, changed, removed, unchanged, skipped, bytes };
  },
});

async function* batches(rows: AsyncIterable<unknown>): AsyncGenerator<FileRow[]> {
  let batch: FileRow[] = [];
  let chars = 0;
  for await (const one of rows) {
    const row = parseRow(one);
    batch.push(row);
    chars += "kept" in row ? row.kept.length : row.path.length;
    if (batch.length < BATCH_ROWS && chars < BATCH_CHARS) continue;
    yield batch;
    batch = [];
    chars = 0;
  }
  if (batch.length > 0) yield batch;
}

function parseRow(row: unknown): FileRow {
  if (typeof row !== "object" || row === null) throw unexpected("row");
  const fields = row as Record<string, unknown>;
  if (typeof fields.kept === "string") return { kept: fields.kept, isFolder: fields.folder === true };
  const { path, size, sha256, media_type: mediaType, modified_ms: modifiedMs } = fields;
  if (typeof path !== "string" || typeof size !== "number" || typeof sha256 !== "string") throw unexpected("row");
  if (typeof mediaType !== "string" || typeof modifiedMs !== "number") throw unexpected("row");
  return { path, size, sha256, mediaType, modifiedMs };
}

function parseFound(result: unknown): { files: number; bytes: number; skipped: number } {
  const { files, bytes, skipped } = (result ?? {}) as Record<string, unknown>;
  if (typeof files !== "number" || typeof bytes !== "number" || typeof skipped !== "number") throw unexpected("result");
  return { files, bytes, skipped };
}

function unexpected(what: string): JobError {
  return new JobError(`walk-folder sent a ${what} of an unexpected form`, { errorType: "internal" });
}
