import { sql } from "drizzle-orm";
import { bigint, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { app, bytea, instantColumn } from "./app";

// Registered folders and the inventory of their files.
export const providers = app.table("providers", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  tenant_id: uuid().notNull(),
  name: text().notNull(),
  kind: text().notNull().default("folder"),
  path: text().notNull(),
  created_by: uuid(),
  created_at: instantColumn().notNull().default(sql`app.now()`),
});

export const assets = app.table("assets", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  tenant_id: uuid().notNull(),
  provider_id: uuid().notNull(),
  path: text().notNull(),
  path_hash: bytea().notNull(),
  size: bigint({ mode: "number" }).notNull(),
  sha256: text().notNull(),
  media_type: text().notNull(),
  modified_at: instantColumn().notNull(),
  seen_in: uuid().notNull(),
  seen_at: instantColumn().notNull().default(sql`app.now()`),
  change: text().notNull().default("added"),
  created_at: instantColumn().notNull().default(sql`app.now()`),
  updated_at: instantColumn().notNull().default(sql`app.now()`),
});

export const providerWatches = app.table(
  "provider_watches",
  {
    tenant_id: uuid().notNull(),
    provider_id: uuid().notNull(),
    folders: bytea().notNull(),
    fingerprint: bytea().notNull(),
    changed_at: instantColumn().notNull().default(sql`app.now()`),
  },
  (table) => [primaryKey({ columns: [table.tenant_id, table.provider_id] })],
);
