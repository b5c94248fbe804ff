import { sql } from "drizzle-orm";
import { integer, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app } from "./app";

// What is not started for now.
export const pauses = app.table("pauses", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  scope: text("scope").notNull(),
  queueId: integer("queue_id"),
  definitionId: uuid("definition_id"),
  tenantId: uuid("tenant_id"),
  reason: text("reason").notNull(),
  pausedAt: timestamp("paused_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  pausedUntil: timestamp("paused_until", { withTimezone: true }),
  pausedBy: uuid("paused_by"),
});
