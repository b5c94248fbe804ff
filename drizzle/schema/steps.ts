import { sql } from "drizzle-orm";
import { bigint, integer, jsonb, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { app, instantColumn } from "./app";

// What an attempt has done for good.
export const jobSteps = app.table(
  "job_steps",
  {
    job_id: uuid().notNull(),
    run_no: integer().notNull(),
    name: text().notNull(),
    tenant_id: uuid().notNull(),
    attempt_no: bigint({ mode: "number" }).notNull(),
    result: jsonb().notNull(),
    created_at: instantColumn().notNull().default(sql`app.now()`),
  },
  (table) => [primaryKey({ columns: [table.job_id, table.run_no, table.name] })],
);
