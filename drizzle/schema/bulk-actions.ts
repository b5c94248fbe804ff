import { sql } from "drizzle-orm";
import { bigint, boolean, integer, jsonb, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { app, instantColumn } from "./app";

// Actions on many jobs, and the result for each job.
export const bulkActions = app.table("bulk_actions", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  tenant_id: uuid().notNull(),
  action: text().notNull(),
  priority: integer(),
  scheduled_for: instantColumn(),
  target: jsonb().notNull(),
  next_before: uuid().notNull(),
  status: text().notNull().default("queued"),
  stop_reason: text(),
  total: integer().notNull(),
  total_is_exact: boolean().notNull(),
  chunk_count: integer().notNull().default(0),
  done_count: integer().notNull().default(0),
  skipped_count: integer().notNull().default(0),
  failed_count: integer().notNull().default(0),
  actor_kind: text().notNull(),
  actor_id: uuid(),
  user_id: uuid(),
  request_id: text(),
  created_at: instantColumn().notNull().default(sql`app.now()`),
  started_at: instantColumn(),
  finished_at: instantColumn(),
  abort_requested_at: instantColumn(),
  term: bigint({ mode: "number" }),
  taken_at: instantColumn(),
  tries: integer().notNull().default(0),
});

export const bulkActionChunks = app.table(
  "bulk_action_chunks",
  {
    tenant_id: uuid().notNull(),
    action_id: uuid().notNull(),
    chunk_no: integer().notNull(),
    job_ids: uuid().array().notNull(),
    results: text().array().notNull(),
    held_ids: uuid().array().notNull().default([]),
  },
  (table) => [primaryKey({ columns: [table.tenant_id, table.action_id, table.chunk_no] })],
);
