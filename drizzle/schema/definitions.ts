import { sql } from "drizzle-orm";
import { boolean, doublePrecision, integer, jsonb, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { app, instantColumn } from "./app";

// What may run.
export const jobQueues = app.table("job_queues", {
  id: integer().notNull().primaryKey().generatedAlwaysAsIdentity(),
  name: text().notNull(),
  description: text().notNull().default(""),
  is_active: boolean().notNull().default(true),
  created_at: instantColumn().notNull().default(sql`app.now()`),
  updated_at: instantColumn().notNull().default(sql`app.now()`),
  default_priority: integer().notNull().default(100),
  timeout_seconds: integer(),
  max_attempts: integer(),
  retry_delay_seconds: doublePrecision(),
  retry_multiplier: doublePrecision(),
  weight: doublePrecision().notNull().default(1),
  version: integer().notNull().default(1),
});

export const jobDefinitions = app.table("job_definitions", {
  id: uuid().notNull().primaryKey().default(sql`app.new_id()`),
  key: text().notNull(),
  description: text().notNull().default(""),
  executor: text().notNull().default("command"),
  command_key: text(),
  queue_id: integer().notNull(),
  arg_schema: jsonb().notNull().default(sql`'{}'::jsonb`),
  timeout_seconds: integer(),
  max_attempts: integer(),
  lease_seconds: integer().notNull().default(30),
  kill_grace_seconds: integer().notNull().default(5),
  retry_strategy: text(),
  retry_delay_seconds: doublePrecision(),
  retry_multiplier: doublePrecision(),
  retry_max_delay_seconds: doublePrecision(),
  retry_jitter: doublePrecision(),
  dead_letter: boolean().notNull().default(true),
  is_active: boolean().notNull().default(true),
  version: integer().notNull().default(1),
  created_at: instantColumn().notNull().default(sql`app.now()`),
  updated_at: instantColumn().notNull().default(sql`app.now()`),
  retry_classes: jsonb().notNull().default(sql`'{}'::jsonb`),
});

export const jobDefinitionVersions = app.table(
  "job_definition_versions",
  {
    definition_id: uuid().notNull(),
    version: integer().notNull(),
    executor: text().notNull(),
    command_key: text(),
    arg_schema: jsonb().notNull(),
    timeout_seconds: integer(),
    max_attempts: integer(),
    lease_seconds: integer().notNull(),
    kill_grace_seconds: integer().notNull(),
    retry_strategy: text(),
    retry_delay_seconds: doublePrecision(),
    retry_multiplier: doublePrecision(),
    retry_max_delay_seconds: doublePrecision(),
    retry_jitter: doublePrecision(),
    dead_letter: boolean().notNull(),
    created_at: instantColumn().notNull().default(sql`app.now()`),
    created_by: uuid(),
    retry_classes: jsonb().notNull().default(sql`'{}'::jsonb`),
  },
  (table) => [primaryKey({ columns: [table.definition_id, table.version] })],
);
