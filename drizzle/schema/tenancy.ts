import { sql } from "drizzle-orm";
import { boolean, doublePrecision, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app, bytea } from "./app";

// Who there is: tenants, people, their roles, sessions and API keys.
export const tenants = app.table("tenants", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  slug: text("slug").notNull(),
  name: text("name").notNull(),
  timezone: text("timezone").notNull().default("UTC"),
  status: text("status").notNull().default("active"),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  updatedAt: timestamp("updated_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  weight: doublePrecision("weight").notNull().default(1),
});

export const users = app.table("users", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  email: text("email").notNull(),
  displayName: text("display_name").notNull().default(""),
  passwordHash: text("password_hash"),
  mustChangePassword: boolean("must_change_password").notNull().default(false),
  isSuperAdmin: boolean("is_super_admin").notNull().default(false),
  disabledAt: timestamp("disabled_at", { withTimezone: true }),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  updatedAt: timestamp("updated_at", { withTimezone: true }).notNull().default(sql`app.now()`),
});

export const memberships = app.table(
  "memberships",
  {
    tenantId: uuid("tenant_id").notNull(),
    userId: uuid("user_id").notNull(),
    role: text("role").notNull(),
    createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.userId] })],
);

export const sessions = app.table("sessions", {
  idHash: bytea("id_hash").notNull().primaryKey(),
  userId: uuid("user_id").notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  lastSeenAt: timestamp("last_seen_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  idleExpiresAt: timestamp("idle_expires_at", { withTimezone: true }).notNull(),
  absoluteExpiresAt: timestamp("absolute_expires_at", { withTimezone: true }).notNull(),
  revokedAt: timestamp("revoked_at", { withTimezone: true }),
  ip: text("ip"),
  userAgent: text("user_agent"),
});

export const apiKeys = app.table("api_keys", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  keyId: text("key_id").notNull(),
  secretHash: bytea("secret_hash").notNull(),
  last4: text("last4").notNull(),
  kind: text("kind").notNull(),
  tenantId: uuid("tenant_id"),
  name: text("name").notNull(),
  scopes: text("scopes").array().notNull().default(sql`'{}'::text[]`),
  createdBy: uuid("created_by").notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  expiresAt: timestamp("expires_at", { withTimezone: true }).notNull(),
  revokedAt: timestamp("revoked_at", { withTimezone: true }),
  lastUsedAt: timestamp("last_used_at", { withTimezone: true }),
  lastUsedIp: text("last_used_ip"),
  workerDefinitions: text("worker_definitions").array(),
  workerQueues: text("worker_queues").array(),
});

export const requestBuckets = app.table("request_buckets", {
  key: text("key").notNull().primaryKey(),
  tokens: doublePrecision("tokens").notNull(),
  refilledAt: timestamp("refilled_at", { withTimezone: true }).notNull(),
});
