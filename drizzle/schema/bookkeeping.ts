import { sql } from "drizzle-orm";
import { bigint, boolean, integer, jsonb, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app, bytea } from "./app";

// Answers kept for repeated requests, and the ledger of migrations.
export const idempotencyKeys = app.table("idempotency_keys", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  tenantId: uuid("tenant_id"),
  route: text("route").notNull(),
  key: text("key").notNull(),
  requestHash: bytea("request_hash").notNull(),
  responseStatus: integer("response_status").notNull(),
  responseHeaders: jsonb("response_headers").notNull().default(sql`'{}'::jsonb`),
  responseBody: text("response_body").notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  expiresAt: timestamp("expires_at", { withTimezone: true }).notNull(),
  principal: text("principal").notNull().default(""),
});

export const schemaMigrations = app.table("schema_migrations", {
  name: text("name").notNull().primaryKey(),
  sha256: text("sha256").notNull(),
  appliedAt: timestamp("applied_at", { withTimezone: true }).notNull().default(sql`clock_timestamp()`),
});

// Every text of a file of functions that was ever applied; the highest number of a name is in force.
export const schemaFunctions = app.table(
  "schema_functions",
  {
    name: text("name").notNull(),
    sha256: text("sha256").notNull(),
    number: bigint("number", { mode: "number" }).notNull().generatedAlwaysAsIdentity(),
    appliedAt: timestamp("applied_at", { withTimezone: true }).notNull().default(sql`clock_timestamp()`),
  },
  (table) => [primaryKey({ columns: [table.name, table.sha256] })],
);

// One row: facts that every process compares with its own settings.
export const installation = app.table("installation", {
  onlyRow: boolean("only_row").notNull().primaryKey().default(true),
  dataKeyCheck: bytea("data_key_check"),
  home: text("home"),
});
