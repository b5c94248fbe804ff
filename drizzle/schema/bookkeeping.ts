import { sql } from "drizzle-orm";
import { boolean, integer, jsonb, text, timestamp, uuid } from "drizzle-orm/pg-core";
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

// One row: facts that every process compares with its own settings.
export const installation = app.table("installation", {
  onlyRow: boolean("only_row").notNull().primaryKey().default(true),
  dataKeyCheck: bytea("data_key_check"),
  home: text("home"),
});
