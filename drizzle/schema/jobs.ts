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
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";
import { app } from "./app";

// The job: its record, its live row, its attempts and its output. Partitions are not named here; nothing queries them directly.
export const lanes = app.table("lanes", {
  laneNo: integer("lane_no").notNull().primaryKey().generatedAlwaysAsIdentity(),
  tenantId: uuid("tenant_id").notNull(),
  queueId: integer("queue_id").notNull(),
  definitionId: uuid("definition_id").notNull(),
  band: smallint("band").notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
});

export const jobs = app.table("jobs", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  tenantId: uuid("tenant_id").notNull(),
  definitionId: uuid("definition_id").notNull(),
  definitionVersion: integer("definition_version").notNull(),
  laneNo: integer("lane_no").notNull(),
  source: text("source").notNull(),
  sourceRef: text("source_ref"),
  priority: integer("priority").notNull().default(100),
  payload: jsonb("payload").notNull().default(sql`'{}'::jsonb`),
  tags: text("tags").array().notNull().default(sql`'{}'::text[]`),
  metadata: jsonb("metadata").notNull().default(sql`'{}'::jsonb`),
  correlationId: text("correlation_id"),
  parentJobId: uuid("parent_job_id"),
  retriedFromId: uuid("retried_from_id"),
  dedupeKey: text("dedupe_key"),
  scheduledFor: timestamp("scheduled_for", { withTimezone: true }).notNull(),
  expiresAt: timestamp("expires_at", { withTimezone: true }),
  maxAttempts: integer("max_attempts").notNull(),
  timeoutSeconds: integer("timeout_seconds"),
  retryDelaySeconds: doublePrecision("retry_delay_seconds"),
  retryMultiplier: doublePrecision("retry_multiplier"),
  createdBy: uuid("created_by"),
  queuedAt: timestamp("queued_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  chainDepth: smallint("chain_depth").notNull().default(0),
});

export const liveJobs = app.table("live_jobs", {
  jobId: uuid("job_id").notNull().primaryKey(),
  tenantId: uuid("tenant_id").notNull(),
  laneNo: integer("lane_no").notNull(),
  state: text("state").notNull(),
  ready: boolean("ready").notNull(),
  sortKey: doublePrecision("sort_key").notNull(),
  priority: integer("priority").notNull(),
  scheduledFor: timestamp("scheduled_for", { withTimezone: true }).notNull(),
  expiresAt: timestamp("expires_at", { withTimezone: true }),
  runNo: integer("run_no").notNull().default(1),
  leaseNo: bigint("lease_no", { mode: "number" }).notNull().default(0),
  attemptsSpent: integer("attempts_spent").notNull().default(0),
  reclaims: integer("reclaims").notNull().default(0),
  startedAt: timestamp("started_at", { withTimezone: true }),
  claimedByWorker: text("claimed_by_worker"),
  claimedAt: timestamp("claimed_at", { withTimezone: true }),
  attemptStartedAt: timestamp("attempt_started_at", { withTimezone: true }),
  leaseExpiresAt: timestamp("lease_expires_at", { withTimezone: true }),
  cancelRequestedAt: timestamp("cancel_requested_at", { withTimezone: true }),
  progress: smallint("progress"),
  progressMessage: text("progress_message"),
  hasDedupeKey: boolean("has_dedupe_key").notNull().default(false),
  hasDependents: boolean("has_dependents").notNull().default(false),
  timeouts: integer("timeouts").notNull().default(0),
  snoozes: integer("snoozes").notNull().default(0),
  claimNo: bigint("claim_no", { mode: "number" }),
});

export const jobAttempts = app.table(
  "job_attempts",
  {
    jobId: uuid("job_id").notNull(),
    attemptNo: bigint("attempt_no", { mode: "number" }).notNull(),
    tenantId: uuid("tenant_id").notNull(),
    runNo: integer("run_no").notNull(),
    status: text("status").notNull(),
    workerId: text("worker_id"),
    claimedAt: timestamp("claimed_at", { withTimezone: true }),
    startedAt: timestamp("started_at", { withTimezone: true }),
    finishedAt: timestamp("finished_at", { withTimezone: true }).notNull().default(sql`app.now()`),
    pid: integer("pid"),
    exitCode: integer("exit_code"),
    signal: text("signal"),
    errorType: text("error_type"),
    errorText: text("error_text"),
    stdoutTail: text("stdout_tail"),
    stderrTail: text("stderr_tail"),
    stdoutBytes: bigint("stdout_bytes", { mode: "number" }),
    stderrBytes: bigint("stderr_bytes", { mode: "number" }),
    droppedBytes: bigint("dropped_bytes", { mode: "number" }),
    cpuMs: bigint("cpu_ms", { mode: "number" }),
    peakRssBytes: bigint("peak_rss_bytes", { mode: "number" }),
    retryAt: timestamp("retry_at", { withTimezone: true }),
    outcome: text("outcome"),
    superseded: boolean("superseded").notNull().default(false),
    runStartedAt: timestamp("run_started_at", { withTimezone: true }),
    attemptCount: integer("attempt_count"),
    progress: smallint("progress"),
    result: jsonb("result"),
  },
  (table) => [primaryKey({ columns: [table.jobId, table.attemptNo] })],
);

export const jobLogs = app.table(
  "job_logs",
  {
    jobId: uuid("job_id").notNull(),
    attemptNo: bigint("attempt_no", { mode: "number" }).notNull(),
    seq: integer("seq").notNull(),
    tenantId: uuid("tenant_id").notNull(),
    stream: text("stream").notNull(),
    level: text("level"),
    at: timestamp("at", { withTimezone: true }).notNull().default(sql`app.now()`),
    body: text("body").notNull(),
    context: jsonb("context"),
  },
  (table) => [primaryKey({ columns: [table.jobId, table.attemptNo, table.seq] })],
);

export const dedupeKeys = app.table(
  "dedupe_keys",
  {
    tenantId: uuid("tenant_id").notNull(),
    key: text("key").notNull(),
    jobId: uuid("job_id").notNull(),
    live: boolean("live").notNull().default(true),
    heldUntil: timestamp("held_until", { withTimezone: true }),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.key] })],
);

export const jobDependencies = app.table(
  "job_dependencies",
  {
    childId: uuid("child_id").notNull(),
    edgeNo: smallint("edge_no").notNull(),
    tenantId: uuid("tenant_id").notNull(),
    parentId: uuid("parent_id").notNull(),
    alias: text("alias"),
    type: text("type").notNull(),
    condition: jsonb("condition"),
    onFailure: text("on_failure").notNull(),
    bindings: jsonb("bindings"),
    state: text("state").notNull().default("pending"),
  },
  (table) => [primaryKey({ columns: [table.childId, table.edgeNo] })],
);

export const releaseBacklog = app.table("release_backlog", {
  id: bigint("id", { mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
  tenantId: uuid("tenant_id").notNull(),
  parentId: uuid("parent_id").notNull(),
  fromChild: uuid("from_child").notNull(),
  toChild: uuid("to_child").notNull(),
});
