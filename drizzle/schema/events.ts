import { sql } from "drizzle-orm";
import { integer, jsonb, smallint, text, uuid } from "drizzle-orm/pg-core";
import { app, instantColumn } from "./app";

// Named facts, and which tenants have triggers on the ends of jobs.
export const events = app.table("events", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  tenant_id: uuid().notNull(),
  name: text().notNull(),
  producer_id: text(),
  data: jsonb().notNull(),
  source: text().notNull(),
  correlation_id: text(),
  depth: smallint().notNull().default(0),
  caused_by_job_id: uuid(),
  actor_kind: text().notNull().default("system"),
  actor_id: uuid(),
  received_at: instantColumn().notNull().default(sql`app.now()`),
  status: text().notNull(),
  considered_count: integer().notNull().default(0),
  matched_count: integer().notNull().default(0),
  started_count: integer().notNull().default(0),
  reason: text(),
  misses: jsonb(),
  tries: smallint().notNull().default(0),
});

export const jobListeners = app.table("job_listeners", {
  tenant_id: uuid().notNull().primaryKey(),
  event_names: text().array().notNull(),
});
