import { sql } from "drizzle-orm";
import { bigint, foreignKey, integer, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app, bytea } from "./app";

// Files that jobs made.
export const artifacts = app.table(
  "artifacts",
  {
    tenantId: uuid("tenant_id").notNull(),
    id: uuid("id").notNull().default(sql`app.new_id()`),
    jobId: uuid("job_id").notNull(),
    runNo: integer("run_no").notNull(),
    attemptNo: bigint("attempt_no", { mode: "number" }).notNull(),
    name: text("name").notNull(),
    contentType: text("content_type").notNull(),
    size: bigint("size", { mode: "number" }).notNull().default(0),
    chunks: integer("chunks").notNull().default(0),
    sha256: bytea("sha256"),
    createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
    completedAt: timestamp("completed_at", { withTimezone: true }),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.id] })],
);

export const artifactChunks = app.table(
  "artifact_chunks",
  {
    tenantId: uuid("tenant_id").notNull(),
    artifactId: uuid("artifact_id").notNull(),
    no: integer("no").notNull(),
    bytes: bytea("bytes").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.artifactId, table.no] }),
    foreignKey({ columns: [table.tenantId, table.artifactId], foreignColumns: [artifacts.tenantId, artifacts.id] }),
  ],
);

export const artifactUsage = app.table("artifact_usage", {
  tenantId: uuid("tenant_id").notNull().primaryKey(),
  bytes: bigint("bytes", { mode: "number" }).notNull().default(0),
});
