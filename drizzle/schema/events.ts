import { sql } from "drizzle-orm";
import { integer, jsonb, smallint, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app } from "./app";

// Named facts, and which tenants have triggers on the ends of jobs.
export const events = app.table("events", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  tenantId: uuid("tenant_id").notNull(),
  name: text("name").notNull(),
  producerId: text("producer_id"),
  data: jsonb("data").notNull(),
  source: text("source").notNull(),
  correlationId: text("correlation_id"),
  depth: smallint("depth").notNull().default(0),
  causedByJobId: uuid("caused_by_job_id"),
  actorKind: text("actor_kind").notNull().default("system"),
  actorId: uuid("actor_id"),
  receivedAt: timestamp("received_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  status: text("status").notNull(),
  consideredCount: integer("considered_count").notNull().default(0),
  matchedCount: integer("matched_count").notNull().default(0),
  startedCount: integer("started_count").notNull().default(0),
  reason: text("reason"),
  misses: jsonb("misses"),
  tries: smallint("tries").notNull().default(0),
});

export const jobListeners = app.table("job_listeners", {
  tenantId: uuid("tenant_id").notNull().primaryKey(),
  eventNames: text("event_names").array().notNull(),
});
