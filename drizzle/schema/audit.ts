import { sql } from "drizzle-orm";
import { boolean, jsonb, text, uuid } from "drizzle-orm/pg-core";
import { app, instantColumn } from "./app";

// Who did what; append-only.
export const securityAudit = app.table("security_audit", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  at: instantColumn().notNull().default(sql`clock_timestamp()`),
  tenant_id: uuid(),
  actor_kind: text().notNull(),
  actor_id: uuid(),
  action: text().notNull(),
  severity: text().notNull().default("low"),
  object_kind: text(),
  object_id: text(),
  success: boolean().notNull(),
  reason: text(),
  detail: jsonb().notNull().default(sql`'{}'::jsonb`),
  request_id: text(),
  ip: text(),
  user_agent: text(),
});

export const jobAudit = app.table("job_audit", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  at: instantColumn().notNull().default(sql`clock_timestamp()`),
  tenant_id: uuid().notNull(),
  job_id: uuid(),
  actor_kind: text().notNull(),
  actor_id: uuid(),
  action: text().notNull(),
  from_status: text(),
  to_status: text(),
  reason: text(),
  request_id: text(),
  trigger_id: uuid(),
  event_id: uuid(),
});
