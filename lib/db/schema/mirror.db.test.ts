import { is } from "drizzle-orm";
import { getTableConfig, PgTable } from "drizzle-orm/pg-core";
import { expect, test } from "vitest";
import * as schema from "@/drizzle/schema";
import { testDatabase } from "@/lib/testing/database";

const database = await testDatabase();

interface ColumnShape {
  readonly type: string;
  readonly notNull: boolean;
  readonly hasDefault: boolean;
}
type Shape = Record<string, Record<string, ColumnShape>>;

const declared = (): Shape =>
  Object.fromEntries(
    Object.values(schema)
      .flatMap((value) => (is(value, PgTable) ? [getTableConfig(value)] : []))
      .map(({ name, columns }) => [
        name,
        Object.fromEntries(
          columns.map((column) => {
            const identity = column.generatedIdentity !== undefined;
            const type = column.getSQLType();
            return [column.name, { type, notNull: column.notNull, hasDefault: column.hasDefault || identity }];
          }),
        ),
      ]),
  );

async function actual(): Promise<Shape> {
  const rows = await database.query<ColumnShape & { table: string; column: string }>(
    `select c.table_name as "table", c.column_name as "column", c.is_nullable = 'NO' as "notNull",
            c.column_default is not null or c.is_identity = 'YES' as "hasDefault",
            case c.data_type when 'ARRAY' then format_type(to_regtype(substr(c.udt_name, 2)), null) || '[]' else c.data_type end as type
     from information_schema.columns c
     join pg_class r on r.relname = c.table_name and r.relnamespace = 'app'::regnamespace
     where c.table_schema = 'app' and not r.relispartition and r.relkind in ('r', 'p')`,
  );
  const shape: Shape = {};
  for (const { table, column, type, notNull, hasDefault } of rows) {
    shape[table] ??= {};
    shape[table][column] = { type, notNull, hasDefault };
  }
  return shape;
}

test("the Drizzle schema has exactly the tables and columns of the database", async () => {
  expect(declared()).toEqual(await actual());
});

test("the comparison fails for a column that exists only in the database", async () => {
  await database.query("alter table app.lists add column only_here text");
  expect(declared()).not.toEqual(await actual());
  await database.query("alter table app.lists drop column only_here");
});
