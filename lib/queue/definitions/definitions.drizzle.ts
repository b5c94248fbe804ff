/**
 * Definitions: the kinds of jobs that an installation runs. They are global. Each change makes a new version, and a
 * waiting job keeps the version with which it was accepted.
 *
 * Start with `createDefinition` and `updateDefinition`. read-definitions.ts is what enqueueing and workers read.
 * arg-schema.policy.ts compiles the JSON Schema that a version's payloads must match; arg-schema-budget.policy.ts limits
 * the time that one check may take.
 */
import { asc, eq, type SQL, sql } from "drizzle-orm";
import { jobDefinitions as definitions, jobQueues as queues } from "@/drizzle/schema";
import { columnsOf, type Database, type Runner } from "@/lib/db";
import { QueueError } from "../errors";
import { checkRetry } from "../retry/retry-settings.policy";
import type { Actor, Definition, DefinitionInput, DefinitionPatch } from "../types";
import { compileArgSchema } from "./arg-schema.policy";
import { MAX_ATTEMPTS, TIMEOUT_SECONDS } from "./defaults.sql";
import { keepDefinitionVersionSql } from "./definitions.sql";
import { queueIdOf } from "./read-definitions";

const LISTED = 1000;
const DEFINITION = {
  ...columnsOf(definitions, "id", "key", "description", "command_key", "lease_seconds", "kill_grace_seconds"),
  ...columnsOf(definitions, "dead_letter", "is_active", "version", "created_at", "updated_at"),
  executor: sql<Definition["executor"]>`${definitions.executor}`,
  queue: queues.name,
  arg_schema: sql<Definition["arg_schema"]>`${definitions.arg_schema}`,
  timeout_seconds: sql<number>`coalesce(${definitions.timeout_seconds}, ${queues.timeout_seconds}, ${sql.raw(String(TIMEOUT_SECONDS))})`,
  max_attempts: sql<number>`coalesce(${definitions.max_attempts}, ${queues.max_attempts}, ${sql.raw(String(MAX_ATTEMPTS))})`,
  retry: {
    strategy: sql<Definition["retry"]["strategy"]>`${definitions.retry_strategy}`,
    delay_seconds: definitions.retry_delay_seconds,
    multiplier: definitions.retry_multiplier,
    max_delay_seconds: definitions.retry_max_delay_seconds,
    jitter: definitions.retry_jitter,
  },
  retry_classes: sql<Definition["retry_classes"]>`${definitions.retry_classes}`,
};

/** Lists all definitions by key. They are global, so every tenant may know them. */
export const listDefinitions = (db: Runner): Promise<Definition[]> => read(db);

const read = ({ orm }: Runner, of?: SQL): Promise<Definition[]> =>
  orm
    .select(DEFINITION)
    .from(definitions)
    .innerJoin(queues, eq(queues.id, definitions.queue_id))
    .where(of)
    .orderBy(asc(definitions.key))
    .limit(LISTED);

/** Adds a definition. @throws QueueError definition-exists, queue-unknown, schema-invalid, invalid-value */
export async function createDefinition(db: Database, actor: Actor, input: DefinitionInput): Promise<Definition> {
  const { key, executor = "command", queue = "default" } = input;
  const command_key = commandKey(executor, input.command_key ?? key);
  compileArgSchema(input.arg_schema ?? {});
  checkRetry(input);
  return db.transaction(async (tx) => {
    const queue_id = await queueIdOf(tx, queue);
    const [made] = await tx.orm
      .insert(definitions)
      .values({ ...columns(input), key, executor, command_key, queue_id })
      .onConflictDoNothing()
      .returning({ id: definitions.id });
    if (!made) throw new QueueError("definition-exists", "A definition with this key exists.");
    return keepVersion(tx, actor, made.id);
  });
}

/**
 * Changes a definition under a new version. Waiting jobs keep the version with which they were accepted.
 * @throws QueueError not-found, queue-unknown, schema-invalid, invalid-value
 */
export async function updateDefinition(
  db: Database,
  actor: Actor,
  { id, patch }: { readonly id: string; readonly patch: DefinitionPatch },
): Promise<Definition> {
  if (patch.arg_schema) compileArgSchema(patch.arg_schema);
  checkRetry(patch);
  return db.transaction(async (tx) => {
    await tx.orm.select({ id: definitions.id }).from(definitions).where(eq(definitions.id, id)).for("update");
    const current = await definitionById(tx, id);
    const { executor = current.executor, queue = current.queue } = patch;
    const command_key = commandKey(executor, patch.command_key ?? current.command_key);
    keepSide(current.executor, executor);
    const queue_id = await queueIdOf(tx, queue);
    await tx.orm
      .update(definitions)
      .set({ ...columns(patch), executor, command_key, queue_id, ...NEXT_VERSION })
      .where(eq(definitions.id, id));
    return keepVersion(tx, actor, id);
  });
}

const NEXT_VERSION = { version: sql`${definitions.version} + 1`, updated_at: sql`app.now()` };

// Waiting jobs keep their version, so switching between remote and local would give them to workers of the wrong kind.
function keepSide(current: Definition["executor"], next: Definition["executor"]): void {
  if ((current === "remote") === (next === "remote")) return;
  throw new QueueError("invalid-value", "A definition cannot change between remote and local. Create a new one.", {
    problems: [{ pointer: "/executor", code: "fixed", detail: "cannot change between remote and another executor" }],
  });
}

function commandKey(executor: Definition["executor"], given: string | null): string | null {
  if (executor !== "command") return null;
  if (given !== null) return given;
  throw new QueueError("invalid-value", "A definition that runs a command needs a command_key.", {
    problems: [{ pointer: "/command_key", code: "required", detail: "is required for executor command" }],
  });
}

/** The columns of the given settings. Drizzle leaves out those that are undefined. */
function columns({ retry, queue: _queue, ...settings }: DefinitionPatch) {
  return {
    ...settings,
    retry_strategy: retry?.strategy,
    retry_delay_seconds: retry?.delay_seconds,
    retry_multiplier: retry?.multiplier,
    retry_max_delay_seconds: retry?.max_delay_seconds,
    retry_jitter: retry?.jitter,
  };
}

/** Stores the current version, for the jobs that are accepted with it, and returns the definition. */
async function keepVersion(db: Runner, actor: Actor, id: string): Promise<Definition> {
  await db.run(keepDefinitionVersionSql, [id, actor.userId]);
  return definitionById(db, id);
}

async function definitionById(db: Runner, id: string): Promise<Definition> {
  const [definition] = await read(db, eq(definitions.id, id));
  if (!definition) throw new QueueError("not-found", "Definition not found.");
  return definition;
}
