import { sql } from "drizzle-orm";
import { bigint, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app, bytea } from "./app";

// Registered folders and the inventory of their files.
export const providers = app.table("providers", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  tenantId: uuid("tenant_id").notNull(),
  name: text("name").notNull(),
  kind: text("kind").notNull().default("folder"),
  path: text("path").notNull(),
  createdBy: uuid("created_by"),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
});

export const assets = app.table("assets", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  tenantId: uuid("tenant_id").notNull(),
  providerId: uuid("provider_id").notNull(),
  path: text("path").notNull(),
  pathHash: bytea("path_hash").notNull(),
  size: bigint("size", { mode: "number" }).notNull(),
  sha256: text("sha256").notNull(),
  mediaType: text("media_type").notNull(),
  modifiedAt: timestamp("modified_at", { withTimezone: true }).notNull(),
  seenIn: uuid("seen_in").notNull(),
  seenAt: timestamp("seen_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  change: text("change").notNull().default("added"),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  updatedAt: timestamp("updated_at", { withTimezone: true }).notNull().default(sql`app.now()`),
});

export const providerWatches = app.table(
  "provider_watches",
  {
    tenantId: uuid("tenant_id").notNull(),
    providerId: uuid("provider_id").notNull(),
    folders: bytea("folders").notNull(),
    fingerprint: bytea("fingerprint").notNull(),
    changedAt: timestamp("changed_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.providerId] })],
);
