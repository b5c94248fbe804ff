import { sql } from "drizzle-orm";
import { boolean, jsonb, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app } from "./app";

// Who did what; append-only.
export const securityAudit = app.table("security_audit", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  at: timestamp("at", { withTimezone: true }).notNull().default(sql`clock_timestamp()`),
  tenantId: uuid("tenant_id"),
  actorKind: text("actor_kind").notNull(),
  actorId: uuid("actor_id"),
  action: text("action").notNull(),
  severity: text("severity").notNull().default("low"),
  objectKind: text("object_kind"),
  objectId: text("object_id"),
  success: boolean("success").notNull(),
  reason: text("reason"),
  detail: jsonb("detail").notNull().default(sql`'{}'::jsonb`),
  requestId: text("request_id"),
  ip: text("ip"),
  userAgent: text("user_agent"),
});

export const jobAudit = app.table("job_audit", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  at: timestamp("at", { withTimezone: true }).notNull().default(sql`clock_timestamp()`),
  tenantId: uuid("tenant_id").notNull(),
  jobId: uuid("job_id"),
  actorKind: text("actor_kind").notNull(),
  actorId: uuid("actor_id"),
  action: text("action").notNull(),
  fromStatus: text("from_status"),
  toStatus: text("to_status"),
  reason: text("reason"),
  requestId: text("request_id"),
  triggerId: uuid("trigger_id"),
  eventId: uuid("event_id"),
});
