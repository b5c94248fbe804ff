import { sql } from "drizzle-orm";
import { bigint, boolean, doublePrecision, integer, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { app, instantColumn } from "./app";

// How many jobs may run at once and start in a time, the starts that are left, and what was served.
export const concurrencyLimits = app.table("concurrency_limits", {
  id: integer().notNull().primaryKey().generatedAlwaysAsIdentity(),
  scope: text().notNull(),
  queue_id: integer(),
  definition_id: uuid(),
  tenant_id: uuid(),
  max_running: integer(),
  starts_per_second: doublePrecision(),
  burst: integer(),
  limited_at: instantColumn(),
  limited_by: text(),
  created_at: instantColumn().notNull().default(sql`app.now()`),
  updated_at: instantColumn().notNull().default(sql`app.now()`),
});

export const startCounts = app.table(
  "tenant_usage",
  {
    tenant_id: uuid().notNull(),
    queue_id: integer().notNull(),
    cost: doublePrecision().notNull(),
    updated_at: instantColumn().notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenant_id, table.queue_id] })],
);

export const startBuckets = app.table("rate_buckets", {
  limit_id: integer().notNull(),
  tenant_id: uuid(),
  tokens: doublePrecision().notNull(),
  refilled_at: instantColumn().notNull(),
});

export const claimReservations = app.table("claim_reservations", {
  id: bigint({ mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
  lane_no: integer().notNull(),
  n: integer().notNull(),
  reserved_at: instantColumn().notNull(),
  made_at: instantColumn().notNull().default(sql`clock_timestamp()`),
});

/** What counts of running jobs may leave out while an old snapshot is held; one row at most. */
export const runningMark = app.table("running_mark", {
  one: boolean().primaryKey().default(true),
  at: instantColumn().notNull(),
  jobs: uuid().array().notNull(),
});
