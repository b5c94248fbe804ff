import { sql } from "drizzle-orm";
import { integer, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { app, instantColumn } from "./app";

// What people make of jobs that failed for good.
export const deadLetters = app.table(
  "dead_letters",
  {
    tenant_id: uuid().notNull(),
    job_id: uuid().notNull(),
    run_no: integer().notNull(),
    status: text().notNull(),
    note: text().notNull().default(""),
    changed_at: instantColumn().notNull().default(sql`app.now()`),
    changed_by: uuid(),
  },
  (table) => [primaryKey({ columns: [table.tenant_id, table.job_id] })],
);
