import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  doublePrecision,
  integer,
  jsonb,
  primaryKey,
  smallint,
  text,
  uuid,
} from "drizzle-orm/pg-core";
import { app, instantColumn } from "./app";

// The job: its record, its live row, its attempts and its output. Partitions are not named here; nothing queries them directly.
export const lanes = app.table("lanes", {
  lane_no: integer().notNull().primaryKey().generatedAlwaysAsIdentity(),
  tenant_id: uuid().notNull(),
  queue_id: integer().notNull(),
  definition_id: uuid().notNull(),
  band: smallint().notNull(),
  created_at: instantColumn().notNull().default(sql`app.now()`),
});

export const jobs = app.table("jobs", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  tenant_id: uuid().notNull(),
  definition_id: uuid().notNull(),
  definition_version: integer().notNull(),
  lane_no: integer().notNull(),
  source: text().notNull(),
  source_ref: text(),
  priority: integer().notNull().default(100),
  payload: jsonb().notNull().default(sql`'{}'::jsonb`),
  tags: text().array().notNull().default(sql`'{}'::text[]`),
  metadata: jsonb().notNull().default(sql`'{}'::jsonb`),
  correlation_id: text(),
  parent_job_id: uuid(),
  retried_from_id: uuid(),
  dedupe_key: text(),
  scheduled_for: instantColumn().notNull(),
  expires_at: instantColumn(),
  max_attempts: integer().notNull(),
  timeout_seconds: integer(),
  retry_delay_seconds: doublePrecision(),
  retry_multiplier: doublePrecision(),
  created_by: uuid(),
  queued_at: instantColumn().notNull().default(sql`app.now()`),
  chain_depth: smallint().notNull().default(0),
});

export const liveJobs = app.table("live_jobs", {
  job_id: uuid().notNull().primaryKey(),
  tenant_id: uuid().notNull(),
  lane_no: integer().notNull(),
  state: text().notNull(),
  ready: boolean().notNull(),
  sort_key: doublePrecision().notNull(),
  priority: integer().notNull(),
  scheduled_for: instantColumn().notNull(),
  expires_at: instantColumn(),
  run_no: integer().notNull().default(1),
  lease_no: bigint({ mode: "number" }).notNull().default(0),
  attempts_spent: integer().notNull().default(0),
  reclaims: integer().notNull().default(0),
  started_at: instantColumn(),
  claimed_by_worker: text(),
  claimed_at: instantColumn(),
  attempt_started_at: instantColumn(),
  lease_expires_at: instantColumn(),
  cancel_requested_at: instantColumn(),
  progress: smallint(),
  progress_message: text(),
  has_dedupe_key: boolean().notNull().default(false),
  has_dependents: boolean().notNull().default(false),
  timeouts: integer().notNull().default(0),
  snoozes: integer().notNull().default(0),
  claim_no: bigint({ mode: "number" }),
  pid: integer(),
});

export const jobAttempts = app.table(
  "job_attempts",
  {
    job_id: uuid().notNull(),
    attempt_no: bigint({ mode: "number" }).notNull(),
    tenant_id: uuid().notNull(),
    run_no: integer().notNull(),
    status: text().notNull(),
    worker_id: text(),
    claimed_at: instantColumn(),
    started_at: instantColumn(),
    finished_at: instantColumn().notNull().default(sql`app.now()`),
    pid: integer(),
    exit_code: integer(),
    signal: text(),
    error_type: text(),
    error_text: text(),
    stdout_tail: text(),
    stderr_tail: text(),
    stdout_bytes: bigint({ mode: "number" }),
    stderr_bytes: bigint({ mode: "number" }),
    dropped_bytes: bigint({ mode: "number" }),
    cpu_ms: bigint({ mode: "number" }),
    peak_rss_bytes: bigint({ mode: "number" }),
    retry_at: instantColumn(),
    outcome: text(),
    superseded: boolean().notNull().default(false),
    run_started_at: instantColumn(),
    attempt_count: integer(),
    progress: smallint(),
    result: jsonb(),
    progress_message: text(),
  },
  (table) => [primaryKey({ columns: [table.job_id, table.attempt_no] })],
);

export const jobLogs = app.table(
  "job_logs",
  {
    job_id: uuid().notNull(),
    attempt_no: bigint({ mode: "number" }).notNull(),
    seq: integer().notNull(),
    tenant_id: uuid().notNull(),
    stream: text().notNull(),
    level: text(),
    at: instantColumn().notNull().default(sql`app.now()`),
    body: text().notNull(),
    context: jsonb(),
  },
  (table) => [primaryKey({ columns: [table.job_id, table.attempt_no, table.seq] })],
);

export const dedupeKeys = app.table(
  "dedupe_keys",
  {
    tenant_id: uuid().notNull(),
    key: text().notNull(),
    job_id: uuid().notNull(),
    live: boolean().notNull().default(true),
    held_until: instantColumn(),
  },
  (table) => [primaryKey({ columns: [table.tenant_id, table.key] })],
);

export const jobDependencies = app.table(
  "job_dependencies",
  {
    child_id: uuid().notNull(),
    edge_no: smallint().notNull(),
    tenant_id: uuid().notNull(),
    parent_id: uuid().notNull(),
    alias: text(),
    type: text().notNull(),
    condition: jsonb(),
    on_failure: text().notNull(),
    bindings: jsonb(),
    state: text().notNull().default("pending"),
  },
  (table) => [primaryKey({ columns: [table.child_id, table.edge_no] })],
);

export const releaseBacklog = app.table("release_backlog", {
  id: bigint({ mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
  tenant_id: uuid().notNull(),
  parent_id: uuid().notNull(),
  from_child: uuid().notNull(),
  to_child: uuid().notNull(),
});
