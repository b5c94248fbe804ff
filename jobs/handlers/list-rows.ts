import { statement, type TenantTransaction, tenantIs } from "@/lib/db";
import type { ListRow, RowBatch } from "./csv-rows";

const openListSql = statement(
  "list_open",
  `insert into app.lists as l (tenant_id, name, columns, made_in) values ($1::uuid, $2, $3::text[], $4::uuid)
   on conflict (tenant_id, name) do update set columns = excluded.columns, updated_at = app.now()
   returning id, made_in = $4::uuid as is_new, exists (select from app.list_rows r where r.tenant_id = l.tenant_id and r.list_id = l.id) as has_rows`,
);

const writeRowsSql = statement(
  "list_write_rows",
  `insert into app.list_rows (tenant_id, list_id, line_no, data)
   select $1::uuid, $2::uuid, r.line, r.json::jsonb from unnest($3::bigint[], $4::text[]) as r(line, json)
   on conflict (tenant_id, list_id, line_no) do update set data = excluded.data`,
);

/** Removes what an earlier import left at lines that hold no row this time. */
const clearGapsSql = statement(
  "list_clear_gaps",
  `delete from app.list_rows
   where ${tenantIs("tenant_id")} and list_id = $2 and line_no > $3 and line_no <= $4 and line_no <> all($5::bigint[])`,
);

const clearRestSql = statement(
  "list_clear_rest",
  `with gone as (
     delete from app.list_rows where ${tenantIs("tenant_id")} and list_id = $2 and line_no in (
       select line_no from app.list_rows
       where ${tenantIs("tenant_id")} and list_id = $2 and line_no > $3 order by line_no limit $4)
     returning 1)
   select count(*)::int as gone from gone`,
);

const finishListSql = statement(
  "list_finish",
  `update app.lists set row_count = $3, made_in = null, updated_at = app.now() where ${tenantIs("tenant_id")} and id = $2`,
);

export interface OpenList {
  readonly id: string;
  /** This job made it, in this attempt or in one before. */
  readonly isNew: boolean;
  /** Rows of an earlier import, or of an earlier attempt of this one, are there. */
  readonly hasRows: boolean;
}

/** Finds the list of this name, or makes it for a job. */
export async function openList(
  tx: TenantTransaction,
  { name, columns, jobId }: { readonly name: string; readonly columns: readonly string[]; readonly jobId: string },
): Promise<OpenList> {
  const values = [tx.tenantId, name, columns, jobId];
  const [row] = await tx.run<{ id: string; is_new: boolean | null; has_rows: boolean }>(openListSql, values);
  if (!row) throw new Error("the list was not written");
  return { id: row.id, isNew: row.is_new === true, hasRows: row.has_rows };
}

/** Puts a batch in the place of whatever stood at its lines, those after `fromLine`. */
export async function writeRows(
  tx: TenantTransaction,
  list: OpenList,
  { batch, fromLine }: { batch: RowBatch; fromLine: number },
): Promise<void> {
  const lines = batch.rows.map((row: ListRow) => row.line);
  if (lines.length > 0) await tx.run(writeRowsSql, [tx.tenantId, list.id, lines, batch.rows.map((row) => row.json)]);
  if (list.hasRows) await tx.run(clearGapsSql, [tx.tenantId, list.id, fromLine, batch.lastLine, lines]);
}

const CLEAR_AT_ONCE = 20_000;

/** Removes what stands after the last line, and notes how many rows the list has. */
export async function finishList(
  tx: TenantTransaction,
  list: OpenList,
  { rowCount, lastLine }: { rowCount: number; lastLine: number },
): Promise<void> {
  for (let gone = CLEAR_AT_ONCE; list.hasRows && gone === CLEAR_AT_ONCE; ) {
    const [row] = await tx.run<{ gone: number }>(clearRestSql, [tx.tenantId, list.id, lastLine, CLEAR_AT_ONCE]);
    gone = row?.gone ?? 0;
  }
  await tx.run(finishListSql, [tx.tenantId, list.id, rowCount]);
}
