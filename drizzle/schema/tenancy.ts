import { sql } from "drizzle-orm";
import { boolean, doublePrecision, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { app, bytea, instantColumn } from "./app";

// Who there is: tenants, people, their roles, sessions and API keys.
export const tenants = app.table("tenants", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  slug: text().notNull(),
  name: text().notNull(),
  timezone: text().notNull().default("UTC"),
  status: text().notNull().default("active"),
  created_at: instantColumn().notNull().default(sql`app.now()`),
  updated_at: instantColumn().notNull().default(sql`app.now()`),
  weight: doublePrecision().notNull().default(1),
});

export const users = app.table("users", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  email: text().notNull(),
  display_name: text().notNull().default(""),
  password_hash: text(),
  must_change_password: boolean().notNull().default(false),
  is_super_admin: boolean().notNull().default(false),
  disabled_at: instantColumn(),
  created_at: instantColumn().notNull().default(sql`app.now()`),
  updated_at: instantColumn().notNull().default(sql`app.now()`),
});

export const memberships = app.table(
  "memberships",
  {
    tenant_id: uuid().notNull(),
    user_id: uuid().notNull(),
    role: text().notNull(),
    created_at: instantColumn().notNull().default(sql`app.now()`),
  },
  (table) => [primaryKey({ columns: [table.tenant_id, table.user_id] })],
);

export const sessions = app.table("sessions", {
  id_hash: bytea().notNull().primaryKey(),
  user_id: uuid().notNull(),
  created_at: instantColumn().notNull().default(sql`app.now()`),
  last_seen_at: instantColumn().notNull().default(sql`app.now()`),
  idle_expires_at: instantColumn().notNull(),
  absolute_expires_at: instantColumn().notNull(),
  revoked_at: instantColumn(),
  ip: text(),
  user_agent: text(),
});

export const apiKeys = app.table("api_keys", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  key_id: text().notNull(),
  secret_hash: bytea().notNull(),
  last4: text().notNull(),
  kind: text().notNull(),
  tenant_id: uuid(),
  name: text().notNull(),
  scopes: text().array().notNull().default(sql`'{}'::text[]`),
  created_by: uuid().notNull(),
  created_at: instantColumn().notNull().default(sql`app.now()`),
  expires_at: instantColumn().notNull(),
  revoked_at: instantColumn(),
  last_used_at: instantColumn(),
  last_used_ip: text(),
  worker_definitions: text().array(),
  worker_queues: text().array(),
});

export const requestBuckets = app.table("request_buckets", {
  key: text().notNull().primaryKey(),
  tokens: doublePrecision().notNull(),
  refilled_at: instantColumn().notNull(),
});
