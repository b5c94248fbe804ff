import { sql } from "drizzle-orm";
import { bigint, integer, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { app, instantColumn } from "./app";

// Figures for cards and charts.
export const jobStatDeltas = app.table("job_stat_deltas", {
  tenant_id: uuid().notNull(),
  definition_id: uuid().notNull(),
  at: instantColumn().notNull().default(sql`app.now()`),
  kind: text().notNull(),
  n: integer().notNull(),
  wait_ms: bigint({ mode: "number" }).notNull().default(0),
  run_ms: bigint({ mode: "number" }).notNull().default(0),
});

export const jobStats = app.table(
  "job_stats",
  {
    tenant_id: uuid().notNull(),
    bucket: instantColumn().notNull(),
    definition_id: uuid().notNull(),
    kind: text().notNull(),
    n: bigint({ mode: "number" }).notNull(),
    wait_ms: bigint({ mode: "number" }).notNull(),
    run_ms: bigint({ mode: "number" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenant_id, table.bucket, table.definition_id, table.kind] })],
);

export const liveTotals = app.table(
  "live_totals",
  {
    tenant_id: uuid().notNull(),
    definition_id: uuid().notNull(),
    n: bigint({ mode: "number" }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenant_id, table.definition_id] })],
);
