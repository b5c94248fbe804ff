import { sql } from "drizzle-orm";
import { bigint, boolean, integer, jsonb, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app } from "./app";

// Actions on many jobs, and the result for each job.
export const bulkActions = app.table("bulk_actions", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  tenantId: uuid("tenant_id").notNull(),
  action: text("action").notNull(),
  priority: integer("priority"),
  scheduledFor: timestamp("scheduled_for", { withTimezone: true }),
  target: jsonb("target").notNull(),
  nextBefore: uuid("next_before").notNull(),
  status: text("status").notNull().default("queued"),
  stopReason: text("stop_reason"),
  total: integer("total").notNull(),
  totalIsExact: boolean("total_is_exact").notNull(),
  chunkCount: integer("chunk_count").notNull().default(0),
  doneCount: integer("done_count").notNull().default(0),
  skippedCount: integer("skipped_count").notNull().default(0),
  failedCount: integer("failed_count").notNull().default(0),
  actorKind: text("actor_kind").notNull(),
  actorId: uuid("actor_id"),
  userId: uuid("user_id"),
  requestId: text("request_id"),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  startedAt: timestamp("started_at", { withTimezone: true }),
  finishedAt: timestamp("finished_at", { withTimezone: true }),
  abortRequestedAt: timestamp("abort_requested_at", { withTimezone: true }),
  term: bigint("term", { mode: "number" }),
  takenAt: timestamp("taken_at", { withTimezone: true }),
  tries: integer("tries").notNull().default(0),
});

export const bulkActionChunks = app.table(
  "bulk_action_chunks",
  {
    tenantId: uuid("tenant_id").notNull(),
    actionId: uuid("action_id").notNull(),
    chunkNo: integer("chunk_no").notNull(),
    jobIds: uuid("job_ids").array().notNull(),
    results: text("results").array().notNull(),
    heldIds: uuid("held_ids").array().notNull().default([]),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.actionId, table.chunkNo] })],
);
