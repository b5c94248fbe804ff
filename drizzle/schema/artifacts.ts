import { sql } from "drizzle-orm";
import { bigint, foreignKey, integer, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { app, bytea, instantColumn } from "./app";

// Files that jobs made.
export const artifacts = app.table(
  "artifacts",
  {
    tenant_id: uuid().notNull(),
    id: uuid().notNull().default(sql`app.new_id()`),
    job_id: uuid().notNull(),
    run_no: integer().notNull(),
    attempt_no: bigint({ mode: "number" }).notNull(),
    name: text().notNull(),
    content_type: text().notNull(),
    size: bigint({ mode: "number" }).notNull().default(0),
    chunks: integer().notNull().default(0),
    sha256: bytea(),
    created_at: instantColumn().notNull().default(sql`app.now()`),
    completed_at: instantColumn(),
  },
  (table) => [primaryKey({ columns: [table.tenant_id, table.id] })],
);

export const artifactChunks = app.table(
  "artifact_chunks",
  {
    tenant_id: uuid().notNull(),
    artifact_id: uuid().notNull(),
    no: integer().notNull(),
    bytes: bytea().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenant_id, table.artifact_id, table.no] }),
    foreignKey({ columns: [table.tenant_id, table.artifact_id], foreignColumns: [artifacts.tenant_id, artifacts.id] }),
  ],
);

export const artifactUsage = app.table("artifact_usage", {
  tenant_id: uuid().notNull().primaryKey(),
  bytes: bigint({ mode: "number" }).notNull().default(0),
});
