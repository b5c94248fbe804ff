import type { FileHandle } from "node:fs/promises";
import { z } from "zod";
import { defineJob, type HandlerContext } from "@/lib/execution";
import { bytesOf } from "./bytes-of";
import { csvOptions } from "./csv-options";
import type { PackedBatch } from "./csv-packed";
import type { Reject } from "./csv-rows";
import { readRowsInThread } from "./csv-thread";
import { clearDeadImports, finishImport, type OpenImport, openImport, writeRows } from "./list-rows";

const MOST_REJECTS = 1000;

const payload = z.strictObject({
  provider_id: z.guid().describe("The registered folder that holds the file"),
  path: z.string().min(1).max(4096).describe("The CSV file, below that folder"),
  list: z.string().min(1).max(200).describe("The list to fill. It is created if it does not exist"),
  ...csvOptions,
});

type Context = HandlerContext<z.output<typeof payload>>;

/**
 * Replaces a list with the rows of a CSV file, in bounded memory and one transaction per batch. Readers see the change
 * at once, because the rows become the list's in one transaction at the end. A failed import leaves the list as it was.
 * The first import of a list publishes `list.created`. A separate thread parses the file.
 */
export const importCsv = defineJob({
  key: "import-csv",
  description: "Replaces a list by the rows of a CSV file. Delimiter and encoding are detected.",
  timeoutSeconds: 7200,
  schema: payload,
  async run(ctx) {
    const file = await ctx.openFile(ctx.payload.provider_id, ctx.payload.path);
    try {
      return await importFile(ctx, file);
    } finally {
      await file.close();
    }
  },
});

async function importFile(ctx: Context, file: FileHandle) {
  const { delimiter, quote, encoding, header } = ctx.payload;
  const options = { delimiter, quote, encoding, header };
  const batches = readRowsInThread(bytesOf(file), { options, signal: ctx.signal, tenantId: ctx.tenantId });
  try {
    return await importBatches(ctx, batches, (await file.stat()).size);
  } finally {
    // Ends the thread.
    await batches.return(undefined);
  }
}

async function importBatches(ctx: Context, batches: AsyncGenerator<PackedBatch>, size: number) {
  // Read before the import begins, so that a file without columns creates no list.
  let next = await batches.next();
  const target = await ctx.transaction((tx) => openImport(tx, { name: ctx.payload.list, jobId: ctx.jobId }));
  const rejects: Reject[] = [];
  const total = { rows: 0, rejected: 0 };
  let last = next.value;
  try {
    for (; !next.done; next = await batches.next()) {
      const batch = next.value;
      last = batch;
      await ctx.transaction((tx) => writeRows(tx, target, batch));
      total.rows += batch.rowCount;
      total.rejected += batch.rejects.length;
      rejects.push(...batch.rejects.slice(0, MOST_REJECTS - rejects.length));
      ctx.progress(size === 0 ? 100 : (100 * batch.bytesRead) / size, `${total.rows} rows`);
    }
    await finish(ctx, target, { columns: last?.columns ?? [], rows: total.rows });
  } catch (error) {
    await discard(ctx);
    throw error;
  }
  return { ...total, rejects, read_as: last?.found };
}

interface Imported {
  readonly columns: readonly string[];
  readonly rows: number;
}

async function finish(ctx: Context, target: OpenImport, { columns, rows }: Imported): Promise<void> {
  const { list: name, provider_id, path } = ctx.payload;
  await ctx.transaction(async (tx) => {
    const { isNew } = await finishImport(tx, target, { columns, rowCount: rows });
    const data = { list_id: target.listId, name, columns, rows, provider_id, path, job_id: ctx.jobId };
    if (isNew) await ctx.publishEvent({ name: "list.created", data }, tx);
  });
}

/**
 * Removes the import's rows. If the lease is lost or the database unavailable, the tenant's next import removes them.
 */
async function discard(ctx: Context): Promise<void> {
  if (ctx.signal.aborted) return;
  await ctx.transaction((tx) => clearDeadImports(tx, ctx.jobId)).catch(() => undefined);
}
