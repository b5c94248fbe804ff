import { sql } from "drizzle-orm";
import { bigint, boolean, integer, jsonb, real, text } from "drizzle-orm/pg-core";
import { app, bytea, instantColumn, int8multirange } from "./app";

// The registered processes, and the leader.
export const jobWorkers = app.table("job_workers", {
  worker_id: text().notNull().primaryKey(),
  hostname: text().notNull(),
  pid: integer().notNull(),
  version: text().notNull().default(""),
  label: text().notNull().default(""),
  queues: text().array().notNull().default(sql`'{}'::text[]`),
  definitions: text().array().notNull().default(sql`'{}'::text[]`),
  capacity: integer().notNull().default(0),
  running_count: integer().notNull().default(0),
  health_port: integer(),
  isolation: text().notNull().default(""),
  started_at: instantColumn().notNull().default(sql`app.now()`),
  last_seen_at: instantColumn().notNull().default(sql`app.now()`),
  draining_since: instantColumn(),
  stopped_at: instantColumn(),
  cpu_percent: real(),
  rss_bytes: bigint({ mode: "number" }),
  event_loop_lag_ms: real(),
  metadata: jsonb().notNull().default(sql`'{}'::jsonb`),
  tz_version: text(),
});

// Schedulers that are alive, leading or standing by.
export const schedulers = app.table("schedulers", {
  scheduler_id: text().notNull().primaryKey(),
  version: text().notNull().default(""),
  tz_version: text(),
  started_at: instantColumn().notNull().default(sql`app.now()`),
  last_seen_at: instantColumn().notNull().default(sql`app.now()`),
});

// Which of the jobs that workers claimed under numbers have begun.
export const attemptStarts = app.table("attempt_marks", {
  worker_id: text()
    .notNull()
    .primaryKey()
    .references(() => jobWorkers.worker_id, { onDelete: "cascade" }),
  upto: bigint({ mode: "number" }).notNull().default(0),
  waiting: int8multirange().notNull().default("{}"),
  taken: integer().notNull().default(0),
  marked_at: instantColumn().notNull().default(sql`app.now()`),
});

// Scripts and styles of every build of the pages that is being served.
export const webAssets = app.table("web_assets", {
  path: text().notNull().primaryKey(),
  media_type: text().notNull(),
  body: bytea().notNull(),
  published_at: instantColumn().notNull().default(sql`app.now()`),
});

export const leader = app.table("leader", {
  only_row: boolean().notNull().primaryKey().default(true),
  term: bigint({ mode: "number" }).notNull().default(0),
  leader_id: text(),
  acquired_at: instantColumn(),
  last_seen_at: instantColumn(),
});
