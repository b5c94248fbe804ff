import { sql } from "drizzle-orm";
import { boolean, doublePrecision, integer, jsonb, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { app } from "./app";

// What may run.
export const jobQueues = app.table("job_queues", {
  id: integer("id").notNull().primaryKey().generatedAlwaysAsIdentity(),
  name: text("name").notNull(),
  description: text("description").notNull().default(""),
  isActive: boolean("is_active").notNull().default(true),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  updatedAt: timestamp("updated_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  defaultPriority: integer("default_priority").notNull().default(100),
  timeoutSeconds: integer("timeout_seconds"),
  maxAttempts: integer("max_attempts"),
  retryDelaySeconds: doublePrecision("retry_delay_seconds"),
  retryMultiplier: doublePrecision("retry_multiplier"),
  weight: doublePrecision("weight").notNull().default(1),
  version: integer("version").notNull().default(1),
});

export const jobDefinitions = app.table("job_definitions", {
  id: uuid("id").notNull().primaryKey().default(sql`app.new_id()`),
  key: text("key").notNull(),
  description: text("description").notNull().default(""),
  executor: text("executor").notNull().default("command"),
  commandKey: text("command_key"),
  queueId: integer("queue_id").notNull(),
  argSchema: jsonb("arg_schema").notNull().default(sql`'{}'::jsonb`),
  timeoutSeconds: integer("timeout_seconds"),
  maxAttempts: integer("max_attempts"),
  leaseSeconds: integer("lease_seconds").notNull().default(30),
  killGraceSeconds: integer("kill_grace_seconds").notNull().default(5),
  retryStrategy: text("retry_strategy"),
  retryDelaySeconds: doublePrecision("retry_delay_seconds"),
  retryMultiplier: doublePrecision("retry_multiplier"),
  retryMaxDelaySeconds: doublePrecision("retry_max_delay_seconds"),
  retryJitter: doublePrecision("retry_jitter"),
  deadLetter: boolean("dead_letter").notNull().default(true),
  isActive: boolean("is_active").notNull().default(true),
  version: integer("version").notNull().default(1),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  updatedAt: timestamp("updated_at", { withTimezone: true }).notNull().default(sql`app.now()`),
  retryClasses: jsonb("retry_classes").notNull().default(sql`'{}'::jsonb`),
});

export const jobDefinitionVersions = app.table(
  "job_definition_versions",
  {
    definitionId: uuid("definition_id").notNull(),
    version: integer("version").notNull(),
    executor: text("executor").notNull(),
    commandKey: text("command_key"),
    argSchema: jsonb("arg_schema").notNull(),
    timeoutSeconds: integer("timeout_seconds"),
    maxAttempts: integer("max_attempts"),
    leaseSeconds: integer("lease_seconds").notNull(),
    killGraceSeconds: integer("kill_grace_seconds").notNull(),
    retryStrategy: text("retry_strategy"),
    retryDelaySeconds: doublePrecision("retry_delay_seconds"),
    retryMultiplier: doublePrecision("retry_multiplier"),
    retryMaxDelaySeconds: doublePrecision("retry_max_delay_seconds"),
    retryJitter: doublePrecision("retry_jitter"),
    deadLetter: boolean("dead_letter").notNull(),
    createdAt: timestamp("created_at", { withTimezone: true }).notNull().default(sql`app.now()`),
    createdBy: uuid("created_by"),
    retryClasses: jsonb("retry_classes").notNull().default(sql`'{}'::jsonb`),
  },
  (table) => [primaryKey({ columns: [table.definitionId, table.version] })],
);
