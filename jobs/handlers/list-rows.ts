import { statement, type TenantTransaction, tenantIs } from "@/lib/db";
import type { JoinedTexts, PackedBatch } from "./csv-packed";

const openListSql = statement(
  "list_open",
  `insert into app.lists as l (tenant_id, name, made_in, last_generation) values ($1::uuid, $2, $3::uuid, 1)
   on conflict (tenant_id, name) do update set last_generation = l.last_generation + 1
   returning id, last_generation as generation`,
);

const noteImportSql = statement(
  "list_note_import",
  "insert into app.list_imports (tenant_id, list_id, generation, job_id) values ($1::uuid, $2, $3, $4)",
);

/**
 * Locks the import so that it is not taken for dead. Returns no row if another attempt of the job has begun; this
 * attempt must then write nothing more.
 */
const holdImportSql = statement(
  "list_hold_import",
  `select 1 from app.list_imports where ${tenantIs("tenant_id")} and list_id = $2 and generation = $3 for key share`,
);

/**
 * The JSON of all rows is one bytea value, because an array would escape all quotes again in one turn of the event
 * loop.
 */
const writeRowsSql = statement(
  "list_write_rows",
  `insert into app.list_rows (tenant_id, list_id, generation, line_no, data)
   select $1::uuid, $2::uuid, $3::bigint, r.line, convert_from(substring($5::bytea from r.first for r.bytes), 'UTF8')::jsonb
   from unnest($4::bigint[], $6::int[], $7::int[]) as r(line, first, bytes)`,
);

/** Writes one long row from the bytes of its texts; the database builds the JSON. */
const writeLongRowSql = statement(
  "list_write_long_row",
  `insert into app.list_rows (tenant_id, list_id, generation, line_no, data)
   select $1::uuid, $2::uuid, $3::bigint, $4::bigint,
     jsonb_object_agg(f.name, convert_from(substring($5::bytea from f.first for f.bytes), 'UTF8'))
   from unnest($6::text[], $7::int[], $8::int[]) as f(name, first, bytes)`,
);

const endImportSql = statement(
  "list_end_import",
  `delete from app.list_imports where ${tenantIs("tenant_id")} and list_id = $2 and generation = $3 returning 1`,
);

/** Locks the list, so that imports that end at the same time replace it one after another. */
const lockListSql = statement(
  "list_lock",
  `select made_in is not null as is_new, generation from app.lists where ${tenantIs("tenant_id")} and id = $2 for update`,
);

const switchListSql = statement(
  "list_switch",
  `update app.lists set generation = $3, columns = $4::text[], row_count = $5, made_in = null, updated_at = app.now()
   where ${tenantIs("tenant_id")} and id = $2`,
);

/** Deletes the first $4 rows of a generation, by a range of lines. */
const clearRowsSql = statement(
  "list_clear_rows",
  `with gone as (
     delete from app.list_rows where ${tenantIs("tenant_id")} and list_id = $2 and generation = $3
       and line_no < coalesce((
         select line_no from app.list_rows where ${tenantIs("tenant_id")} and list_id = $2 and generation = $3
         order by line_no offset $4 limit 1), 9223372036854775807)
     returning 1)
   select count(*)::int as gone from gone`,
);

/**
 * Deletes abandoned imports: of this job's earlier attempts, of jobs that have ended or wait, and of jobs that no
 * longer exist. Skips imports that another transaction is writing for.
 */
const forgetImportsSql = statement(
  "list_forget_imports",
  `with dead as (
     select i.list_id, i.generation from app.list_imports i
     where ${tenantIs("i.tenant_id")} and (i.job_id = $2
       or exists (select from app.jobs j where j.id = i.job_id and j.tenant_id = i.tenant_id) and not exists (
         select from app.live_jobs q where q.job_id = i.job_id and q.tenant_id = i.tenant_id and q.state = 'running')
       or i.started_at < app.now() - interval '8 days')
     for update skip locked)
   delete from app.list_imports i using dead
   where ${tenantIs("i.tenant_id")} and i.list_id = dead.list_id and i.generation = dead.generation
   returning i.list_id, i.generation`,
);

/** Deletes lists that their first import never filled, and that no import is filling. */
const dropUnfilledSql = statement(
  "list_drop_unfilled",
  `delete from app.lists l where ${tenantIs("l.tenant_id")} and l.id = any($2::uuid[]) and l.made_in is not null
     and not exists (select from app.list_imports i where i.tenant_id = l.tenant_id and i.list_id = l.id)`,
);

const CLEAR_AT_ONCE = 20_000;

/** An import into a list, by one attempt of a job. */
export interface OpenImport {
  readonly listId: string;
  readonly generation: number;
}

/** Begins an import into the list of this name, and creates the list if missing. The list's rows stay as they are. */
export async function openImport(
  tx: TenantTransaction,
  { name, jobId }: { readonly name: string; readonly jobId: string },
): Promise<OpenImport> {
  await clearDeadImports(tx, jobId);
  const [row] = await tx.run<{ id: string; generation: number }>(openListSql, [tx.tenantId, name, jobId]);
  if (!row) throw new Error("the list was not written");
  await tx.run(noteImportSql, [tx.tenantId, row.id, row.generation, jobId]);
  return { listId: row.id, generation: row.generation };
}

/** Removes rows left in the tenant's lists by attempts of this job and by jobs that no longer run. */
export async function clearDeadImports(tx: TenantTransaction, jobId: string): Promise<void> {
  const forgotten = await tx.run<{ list_id: string; generation: number }>(forgetImportsSql, [tx.tenantId, jobId]);
  const lists = [...new Set(forgotten.map(({ list_id }) => list_id))].sort();
  for (const listId of lists) await tx.run(lockListSql, [tx.tenantId, listId]);
  for (const { list_id: listId, generation } of forgotten) await clearRows(tx, { listId, generation });
  if (lists.length > 0) await tx.run(dropUnfilledSql, [tx.tenantId, lists]);
}

/** Writes a batch under the import's generation. @throws Error if a later attempt has restarted the import */
export async function writeRows(
  tx: TenantTransaction,
  { listId, generation }: OpenImport,
  { lines, jsons, long, columns }: PackedBatch,
): Promise<void> {
  const target = [tx.tenantId, listId, generation];
  const held = await tx.run(holdImportSql, target);
  if (held.length === 0) throw superseded();
  if (lines.length > 0) await tx.run(writeRowsSql, [...target, lines, ...valuesOf(jsons)]);
  for (const { line, texts } of long) {
    const [bytes, ...borders] = valuesOf(texts);
    await tx.run(writeLongRowSql, [...target, line, bytes, columns, ...borders]);
  }
}

/** Returns the bytes, the position of each text (from 1, as PostgreSQL counts), and the length of each text. */
function valuesOf({ bytes, lengths }: JoinedTexts): [bytes: Buffer, firsts: number[], lengths: readonly number[]] {
  let next = 1;
  const firsts = lengths.map((length) => {
    const first = next;
    next += length;
    return first;
  });
  return [Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), firsts, lengths];
}

/**
 * Replaces the list's rows with the import's, in this transaction: readers see the old list or the new one. Concurrent
 * imports each replace the whole list, so the one that ends last stays.
 * @returns `isNew`: true if this was the first time the list was filled
 * @throws Error if a later attempt has restarted the import
 */
export async function finishImport(
  tx: TenantTransaction,
  { listId, generation }: OpenImport,
  { columns, rowCount }: { readonly columns: readonly string[]; readonly rowCount: number },
): Promise<{ readonly isNew: boolean }> {
  const [list] = await tx.run<{ is_new: boolean; generation: number }>(lockListSql, [tx.tenantId, listId]);
  const ended = await tx.run(endImportSql, [tx.tenantId, listId, generation]);
  if (!list || ended.length === 0) throw superseded();
  await tx.run(switchListSql, [tx.tenantId, listId, generation, columns, rowCount]);
  await clearRows(tx, { listId, generation: list.generation });
  return { isNew: list.is_new };
}

async function clearRows(tx: TenantTransaction, { listId, generation }: OpenImport): Promise<void> {
  for (let gone = CLEAR_AT_ONCE; gone === CLEAR_AT_ONCE; ) {
    const values = [tx.tenantId, listId, generation, CLEAR_AT_ONCE];
    const [row] = await tx.run<{ gone: number }>(clearRowsSql, values);
    gone = row?.gone ?? 0;
  }
}

const superseded = (): Error => new Error("a later attempt of this job has restarted the import");
