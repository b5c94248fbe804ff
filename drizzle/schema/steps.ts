import { sql } from "drizzle-orm";
import { bigint, integer, jsonb, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app } from "./app";

// What an attempt has done for good.
export const jobSteps = app.table(
  "job_steps",
  {
    jobId: uuid("job_id").notNull(),
    runNo: integer("run_no").notNull(),
    name: text("name").notNull(),
    tenantId: uuid("tenant_id").notNull(),
    attemptNo: bigint("attempt_no", { mode: "number" }).notNull(),
    result: jsonb("result").notNull(),
    createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  },
  (table) => [primaryKey({ columns: [table.jobId, table.runNo, table.name] })],
);
