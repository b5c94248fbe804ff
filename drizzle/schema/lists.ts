import { sql } from "drizzle-orm";
import { bigint, jsonb, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { app, instantColumn } from "./app";

// Imported lists.
export const lists = app.table("lists", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  tenant_id: uuid().notNull(),
  name: text().notNull(),
  columns: text().array().notNull().default(sql`'{}'::text[]`),
  row_count: bigint({ mode: "number" }).notNull().default(0),
  created_at: instantColumn().notNull().default(sql`app.now()`),
  updated_at: instantColumn().notNull().default(sql`app.now()`),
  made_in: uuid(),
  generation: bigint({ mode: "number" }).notNull().default(0),
  last_generation: bigint({ mode: "number" }).notNull().default(0),
});

export const listRows = app.table(
  "list_rows",
  {
    tenant_id: uuid().notNull(),
    list_id: uuid().notNull(),
    line_no: bigint({ mode: "number" }).notNull(),
    data: jsonb().notNull(),
    generation: bigint({ mode: "number" }).notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.tenant_id, table.list_id, table.generation, table.line_no] })],
);

export const listImports = app.table(
  "list_imports",
  {
    tenant_id: uuid().notNull(),
    list_id: uuid().notNull(),
    generation: bigint({ mode: "number" }).notNull(),
    job_id: uuid().notNull(),
    started_at: instantColumn().notNull().default(sql`app.now()`),
  },
  (table) => [primaryKey({ columns: [table.tenant_id, table.list_id, table.generation] })],
);
