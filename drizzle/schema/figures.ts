import { sql } from "drizzle-orm";
import { bigint, integer, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app } from "./app";

// Figures for cards and charts.
export const jobStatDeltas = app.table("job_stat_deltas", {
  tenantId: uuid("tenant_id").notNull(),
  definitionId: uuid("definition_id").notNull(),
  at: timestamp("at", { withTimezone: true }).notNull().default(sql`app.now()`),
  kind: text("kind").notNull(),
  n: integer("n").notNull(),
  waitMs: bigint("wait_ms", { mode: "number" }).notNull().default(0),
  runMs: bigint("run_ms", { mode: "number" }).notNull().default(0),
});

export const jobStats = app.table(
  "job_stats",
  {
    tenantId: uuid("tenant_id").notNull(),
    bucket: timestamp("bucket", { withTimezone: true }).notNull(),
    definitionId: uuid("definition_id").notNull(),
    kind: text("kind").notNull(),
    n: bigint("n", { mode: "number" }).notNull(),
    waitMs: bigint("wait_ms", { mode: "number" }).notNull(),
    runMs: bigint("run_ms", { mode: "number" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.bucket, table.definitionId, table.kind] })],
);

export const liveTotals = app.table(
  "live_totals",
  {
    tenantId: uuid("tenant_id").notNull(),
    definitionId: uuid("definition_id").notNull(),
    n: bigint("n", { mode: "number" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.definitionId] })],
);
