import { sql } from "drizzle-orm";
import { integer, text, uuid } from "drizzle-orm/pg-core";
import { app, instantColumn } from "./app";

// What is not started for now.
export const pauses = app.table("pauses", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  scope: text().notNull(),
  queue_id: integer(),
  definition_id: uuid(),
  tenant_id: uuid(),
  reason: text().notNull(),
  paused_at: instantColumn().notNull().default(sql`app.now()`),
  paused_until: instantColumn(),
  paused_by: uuid(),
});
