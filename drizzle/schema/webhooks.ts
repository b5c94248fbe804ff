import { sql } from "drizzle-orm";
import { boolean, integer, text, uuid } from "drizzle-orm/pg-core";
import { app, bytea, instantColumn } from "./app";

// The endpoints of a tenant, and the result of each delivery attempt.
export const webhookEndpoints = app.table("webhook_endpoints", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  tenant_id: uuid().notNull(),
  url: text().notNull(),
  description: text().notNull().default(""),
  event_types: text().array(),
  is_enabled: boolean().notNull().default(true),
  disabled_reason: text(),
  secret: bytea(),
  previous_secret: bytea(),
  previous_secret_until: instantColumn(),
  older_secrets: bytea().array().notNull().default([]),
  older_secrets_until: instantColumn().array().notNull().default([]),
  headers: bytea(),
  header_names: text().array().notNull().default(sql`'{}'::text[]`),
  failing_since: instantColumn(),
  version: integer().notNull().default(1),
  created_by: uuid(),
  created_at: instantColumn().notNull().default(sql`app.now()`),
  updated_at: instantColumn().notNull().default(sql`app.now()`),
  deleted_at: instantColumn(),
});

export const webhookDeliveries = app.table("webhook_deliveries", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  tenant_id: uuid().notNull(),
  endpoint_id: uuid().notNull(),
  job_id: uuid().notNull(),
  attempt_no: integer().notNull(),
  message_id: text().notNull(),
  type: text().notNull(),
  url: text().notNull(),
  status_code: integer(),
  error_code: text(),
  error_text: text(),
  request: text().notNull(),
  response: text(),
  duration_ms: integer().notNull(),
  started_at: instantColumn().notNull(),
  created_at: instantColumn().notNull().default(sql`app.now()`),
});
