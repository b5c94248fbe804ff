import { sql } from "drizzle-orm";
import { bigint, boolean, integer, jsonb, real, text, timestamp } from "drizzle-orm/pg-core";
import { app, bytea, int8multirange } from "./app";

// The registered processes, and the leader.
export const jobWorkers = app.table("job_workers", {
  workerId: text("worker_id").notNull().primaryKey(),
  hostname: text("hostname").notNull(),
  pid: integer("pid").notNull(),
  version: text("version").notNull().default(""),
  label: text("label").notNull().default(""),
  queues: text("queues").array().notNull().default(sql`'{}'::text[]`),
  definitions: text("definitions").array().notNull().default(sql`'{}'::text[]`),
  capacity: integer("capacity").notNull().default(0),
  runningCount: integer("running_count").notNull().default(0),
  healthPort: integer("health_port"),
  isolation: text("isolation").notNull().default(""),
  startedAt: timestamp("started_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  lastSeenAt: timestamp("last_seen_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  drainingSince: timestamp("draining_since", { withTimezone: true }),
  stoppedAt: timestamp("stopped_at", { withTimezone: true }),
  cpuPercent: real("cpu_percent"),
  rssBytes: bigint("rss_bytes", { mode: "number" }),
  eventLoopLagMs: real("event_loop_lag_ms"),
  metadata: jsonb("metadata").notNull().default(sql`'{}'::jsonb`),
  tzVersion: text("tz_version"),
});

// Schedulers that are alive, leading or standing by.
export const schedulers = app.table("schedulers", {
  schedulerId: text("scheduler_id").notNull().primaryKey(),
  version: text("version").notNull().default(""),
  tzVersion: text("tz_version"),
  startedAt: timestamp("started_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  lastSeenAt: timestamp("last_seen_at", { withTimezone: true }).notNull().default(sql`app.now()`),
});

// Which of the jobs that workers claimed under numbers have begun.
export const attemptStarts = app.table("attempt_marks", {
  workerId: text("worker_id")
    .notNull()
    .primaryKey()
    .references(() => jobWorkers.workerId, { onDelete: "cascade" }),
  upto: bigint("upto", { mode: "number" }).notNull().default(0),
  waiting: int8multirange("waiting").notNull().default("{}"),
  taken: integer("taken").notNull().default(0),
  notedAt: timestamp("marked_at", { withTimezone: true }).notNull().default(sql`app.now()`),
});

// Scripts and styles of every build of the pages that is being served.
export const webAssets = app.table("web_assets", {
  path: text("path").notNull().primaryKey(),
  mediaType: text("media_type").notNull(),
  body: bytea("body").notNull(),
  publishedAt: timestamp("published_at", { withTimezone: true }).notNull().default(sql`app.now()`),
});

export const leader = app.table("leader", {
  onlyRow: boolean("only_row").notNull().primaryKey().default(true),
  term: bigint("term", { mode: "number" }).notNull().default(0),
  leaderId: text("leader_id"),
  acquiredAt: timestamp("acquired_at", { withTimezone: true }),
  lastSeenAt: timestamp("last_seen_at", { withTimezone: true }),
});
