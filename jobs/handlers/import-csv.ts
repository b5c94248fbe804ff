import type { FileHandle } from "node:fs/promises";
import { z } from "zod";
import { defineJob, type HandlerContext, type JobEvent } from "@/lib/execution";
import { type Reject, readRows } from "./csv-rows";
import { finishList, type OpenList, openList, writeRows } from "./list-rows";
import { openRegularFile } from "./regular-file";

const MOST_REJECTS = 1000;
const CHUNK_BYTES = 256 * 1024;

const payload = z.strictObject({
  provider_id: z.guid().describe("The registered folder that holds the file"),
  path: z.string().min(1).max(4096).describe("The CSV file, below that folder"),
  list: z.string().min(1).max(200).describe("The list to fill; it is made when there is none of this name"),
});

/**
 * Fills a list from a CSV file: line by line, in bounded memory, one transaction for a batch. A row's place is its line
 * in the file, so an attempt that runs again writes the same rows; what stood in the list before is replaced. Until the
 * import has ended the list holds a mixture of both. The job that made a list publishes `list.created` when it is filled.
 */
export const importCsv = defineJob({
  key: "import-csv",
  description: "Fills a list from a CSV file (UTF-8, comma separated, first line names the columns).",
  timeoutSeconds: 7200,
  schema: payload,
  async run(ctx) {
    const path = await ctx.providerPath(ctx.payload.provider_id, ctx.payload.path);
    const file = await openRegularFile(path);
    try {
      return await importFile(ctx, file);
    } finally {
      await file.close();
    }
  },
});

async function importFile(ctx: HandlerContext<z.output<typeof payload>>, file: FileHandle) {
  const { size } = await file.stat();
  const rejects: Reject[] = [];
  const total = { rows: 0, rejected: 0 };
  let list: OpenList | null = null;
  let lastLine = 1;
  let columns: readonly string[] = [];
  for await (const batch of readRows(file.createReadStream({ highWaterMark: CHUNK_BYTES, autoClose: false }))) {
    const asked = { name: ctx.payload.list, columns: batch.columns, jobId: ctx.jobId };
    list ??= await ctx.transaction((tx) => openList(tx, asked));
    columns = batch.columns;
    const target = list;
    await ctx.transaction((tx) => writeRows(tx, target, { batch, fromLine: lastLine }));
    lastLine = batch.lastLine;
    total.rows += batch.rows.length;
    total.rejected += batch.rejects.length;
    rejects.push(...batch.rejects.slice(0, MOST_REJECTS - rejects.length));
    ctx.progress(size === 0 ? 100 : (100 * batch.bytesRead) / size, `${total.rows} rows`);
  }
  const written = list;
  if (written) {
    await ctx.transaction(async (tx) => {
      await finishList(tx, written, { rowCount: total.rows, lastLine });
      if (written.isNew) await ctx.publishEvent(listCreated(ctx, { list: written, columns, rows: total.rows }), tx);
    });
  }
  return { ...total, rejects };
}

function listCreated(
  ctx: HandlerContext<z.output<typeof payload>>,
  { list, columns, rows }: { readonly list: OpenList; readonly columns: readonly string[]; readonly rows: number },
): JobEvent {
  const { list: name, provider_id, path } = ctx.payload;
  return {
    name: "list.created",
    data: { list_id: list.id, name, columns, rows, provider_id, path, job_id: ctx.jobId },
  };
}
