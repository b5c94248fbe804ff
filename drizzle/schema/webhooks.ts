import { sql } from "drizzle-orm";
import { boolean, integer, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app, bytea } from "./app";

// The endpoints of a tenant, and the result of each delivery attempt.
export const webhookEndpoints = app.table("webhook_endpoints", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  tenantId: uuid("tenant_id").notNull(),
  url: text("url").notNull(),
  description: text("description").notNull().default(""),
  eventTypes: text("event_types").array(),
  isEnabled: boolean("is_enabled").notNull().default(true),
  disabledReason: text("disabled_reason"),
  secret: bytea("secret"),
  previousSecret: bytea("previous_secret"),
  previousSecretUntil: timestamp("previous_secret_until", { withTimezone: true }),
  olderSecrets: bytea("older_secrets").array().notNull().default([]),
  olderSecretsUntil: timestamp("older_secrets_until", { withTimezone: true }).array().notNull().default([]),
  headers: bytea("headers"),
  headerNames: text("header_names").array().notNull().default(sql`'{}'::text[]`),
  failingSince: timestamp("failing_since", { withTimezone: true }),
  version: integer("version").notNull().default(1),
  createdBy: uuid("created_by"),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  updatedAt: timestamp("updated_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  deletedAt: timestamp("deleted_at", { withTimezone: true }),
});

export const webhookDeliveries = app.table("webhook_deliveries", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  tenantId: uuid("tenant_id").notNull(),
  endpointId: uuid("endpoint_id").notNull(),
  jobId: uuid("job_id").notNull(),
  attemptNo: integer("attempt_no").notNull(),
  messageId: text("message_id").notNull(),
  type: text("type").notNull(),
  url: text("url").notNull(),
  statusCode: integer("status_code"),
  errorCode: text("error_code"),
  errorText: text("error_text"),
  request: text("request").notNull(),
  response: text("response"),
  durationMs: integer("duration_ms").notNull(),
  startedAt: timestamp("started_at", { withTimezone: true }).notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
});
