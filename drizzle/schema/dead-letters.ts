import { sql } from "drizzle-orm";
import { integer, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app } from "./app";

// What people make of jobs that failed for good.
export const deadLetters = app.table(
  "dead_letters",
  {
    tenantId: uuid("tenant_id").notNull(),
    jobId: uuid("job_id").notNull(),
    runNo: integer("run_no").notNull(),
    status: text("status").notNull(),
    note: text("note").notNull().default(""),
    changedAt: timestamp("changed_at", { withTimezone: true }).notNull().default(sql`app.now()`),
    changedBy: uuid("changed_by"),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.jobId] })],
);
