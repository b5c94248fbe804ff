import { sql } from "drizzle-orm";
import { bigint, jsonb, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app } from "./app";

// Imported lists.
export const lists = app.table("lists", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  tenantId: uuid("tenant_id").notNull(),
  name: text("name").notNull(),
  columns: text("columns").array().notNull().default(sql`'{}'::text[]`),
  rowCount: bigint("row_count", { mode: "number" }).notNull().default(0),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  updatedAt: timestamp("updated_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  madeIn: uuid("made_in"),
  generation: bigint("generation", { mode: "number" }).notNull().default(0),
  lastGeneration: bigint("last_generation", { mode: "number" }).notNull().default(0),
});

export const listRows = app.table(
  "list_rows",
  {
    tenantId: uuid("tenant_id").notNull(),
    listId: uuid("list_id").notNull(),
    lineNo: bigint("line_no", { mode: "number" }).notNull(),
    data: jsonb("data").notNull(),
    generation: bigint("generation", { mode: "number" }).notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.listId, table.generation, table.lineNo] })],
);

export const listImports = app.table(
  "list_imports",
  {
    tenantId: uuid("tenant_id").notNull(),
    listId: uuid("list_id").notNull(),
    generation: bigint("generation", { mode: "number" }).notNull(),
    jobId: uuid("job_id").notNull(),
    startedAt: timestamp("started_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.listId, table.generation] })],
);
