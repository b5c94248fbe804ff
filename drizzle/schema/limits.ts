import { sql } from "drizzle-orm";
import { bigint, boolean, doublePrecision, integer, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app } from "./app";

// How many jobs may run at once and start in a time, the starts that are left, and what was served.
export const concurrencyLimits = app.table("concurrency_limits", {
  id: integer("id").notNull().primaryKey().generatedAlwaysAsIdentity(),
  scope: text("scope").notNull(),
  queueId: integer("queue_id"),
  definitionId: uuid("definition_id"),
  tenantId: uuid("tenant_id"),
  maxRunning: integer("max_running"),
  startsPerSecond: doublePrecision("starts_per_second"),
  burst: integer("burst"),
  limitedAt: timestamp("limited_at", { withTimezone: true }),
  limitedBy: text("limited_by"),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  updatedAt: timestamp("updated_at", { withTimezone: true }).notNull().default(sql`app.now()`),
});

export const startCounts = app.table(
  "tenant_usage",
  {
    tenantId: uuid("tenant_id").notNull(),
    queueId: integer("queue_id").notNull(),
    cost: doublePrecision("cost").notNull(),
    updatedAt: timestamp("updated_at", { withTimezone: true }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.queueId] })],
);

export const startBuckets = app.table("rate_buckets", {
  limitId: integer("limit_id").notNull(),
  tenantId: uuid("tenant_id"),
  tokens: doublePrecision("tokens").notNull(),
  refilledAt: timestamp("refilled_at", { withTimezone: true }).notNull(),
});

export const claimReservations = app.table("claim_reservations", {
  id: bigint("id", { mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
  laneNo: integer("lane_no").notNull(),
  n: integer("n").notNull(),
  reservedAt: timestamp("reserved_at", { withTimezone: true }).notNull(),
  madeAt: timestamp("made_at", { withTimezone: true }).notNull().default(sql`clock_timestamp()`),
});

/** What counts of running jobs may leave out while an old snapshot is held; one row at most. */
export const runningMark = app.table("running_mark", {
  one: boolean("one").primaryKey().default(true),
  at: timestamp("at", { withTimezone: true }).notNull(),
  jobs: uuid("jobs").array().notNull(),
});
