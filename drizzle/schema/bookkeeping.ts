import { sql } from "drizzle-orm";
import { bigint, boolean, integer, jsonb, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { app, bytea, instantColumn } from "./app";

// Answers kept for repeated requests, and the ledger of migrations.
export const idempotencyKeys = app.table("idempotency_keys", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  tenant_id: uuid(),
  route: text().notNull(),
  key: text().notNull(),
  request_hash: bytea().notNull(),
  response_status: integer().notNull(),
  response_headers: jsonb().notNull().default(sql`'{}'::jsonb`),
  response_body: text().notNull(),
  created_at: instantColumn().notNull().default(sql`app.now()`),
  expires_at: instantColumn().notNull(),
  principal: text().notNull().default(""),
});

export const schemaMigrations = app.table("schema_migrations", {
  name: text().notNull().primaryKey(),
  sha256: text().notNull(),
  applied_at: instantColumn().notNull().default(sql`clock_timestamp()`),
});

// Every text of a file of functions that was ever applied; the highest number of a name is in force.
export const schemaFunctions = app.table(
  "schema_functions",
  {
    name: text().notNull(),
    sha256: text().notNull(),
    number: bigint({ mode: "number" }).notNull().generatedAlwaysAsIdentity(),
    applied_at: instantColumn().notNull().default(sql`clock_timestamp()`),
  },
  (table) => [primaryKey({ columns: [table.name, table.sha256] })],
);

// One row: facts that every process compares with its own settings.
export const installation = app.table("installation", {
  only_row: boolean().notNull().primaryKey().default(true),
  data_key_check: bytea(),
  home: text(),
});
