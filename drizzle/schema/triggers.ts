import { sql } from "drizzle-orm";
import { bigint, boolean, integer, jsonb, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app } from "./app";

const instant = (name: string) => timestamp(name, { withTimezone: true });

// What starts jobs by itself.
export const jobTriggers = app.table("job_triggers", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  tenantId: uuid("tenant_id").notNull(),
  label: text("label").notNull(),
  triggerType: text("trigger_type").notNull(),
  isEnabled: boolean("is_enabled").notNull().default(true),
  definitionId: uuid("definition_id").notNull(),
  queue: text("queue"),
  priority: integer("priority"),
  payloadTemplate: jsonb("payload_template").notNull().default(sql`'{}'::jsonb`),
  dedupeWindowSeconds: integer("dedupe_window_seconds").notNull().default(300),
  dedupeKeyTemplate: text("dedupe_key_template"),
  eventName: text("event_name"),
  condition: text("condition"),
  scheduleType: text("schedule_type"),
  cronExpr: text("cron_expr"),
  intervalMs: bigint("interval_ms", { mode: "number" }),
  anchorAt: instant("anchor_at"),
  onceAt: instant("once_at"),
  timezone: text("timezone"),
  overlapPolicy: text("overlap_policy").notNull(),
  catchUp: text("catch_up").notNull().default("last"),
  catchUpLimit: integer("catch_up_limit").notNull().default(10),
  dstGap: text("dst_gap"),
  dstOverlap: text("dst_overlap"),
  jitterSeconds: integer("jitter_seconds").notNull().default(0),
  maxRuns: integer("max_runs"),
  expiresAt: instant("expires_at"),
  runCount: bigint("run_count", { mode: "number" }).notNull().default(0),
  nextRunAt: instant("next_run_at"),
  followingRunAt: instant("following_run_at"),
  lastRunAt: instant("last_run_at"),
  status: text("status").notNull().default("active"),
  statusReason: text("status_reason"),
  version: integer("version").notNull().default(1),
  createdBy: uuid("created_by"),
  createdAt: instant("created_at").notNull().default(sql`app.now()`),
  updatedAt: instant("updated_at").notNull().default(sql`app.now()`),
  deletedAt: instant("deleted_at"),
});

// The outcome of each instant, of each event that matched a trigger, and of each manual run.
export const triggerFirings = app.table("trigger_firings", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  tenantId: uuid("tenant_id").notNull(),
  triggerId: uuid("trigger_id").notNull(),
  kind: text("kind").notNull(),
  fireAt: instant("fire_at").notNull(),
  eventId: uuid("event_id"),
  outcome: text("outcome").notNull(),
  reason: text("reason"),
  detail: text("detail"),
  n: integer("n").notNull().default(1),
  until: instant("until"),
  jobId: uuid("job_id"),
  isCatchUp: boolean("is_catch_up").notNull().default(false),
  note: text("note"),
  createdAt: instant("created_at").notNull().default(sql`app.now()`),
});
