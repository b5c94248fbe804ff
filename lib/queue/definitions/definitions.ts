/**
 * Definitions: the kinds of jobs that an installation runs. They are global. Each change makes a new version, and a
 * waiting job keeps the version with which it was accepted.
 *
 * Start with `createDefinition` and `updateDefinition`. arg-schema.policy.ts compiles the JSON Schema that a version's
 * payloads must match; arg-schema-budget.policy.ts limits the time that one check may take.
 */
import type { Database, Runner } from "@/lib/db";
import type { RunnableDefinition, Servable } from "../attempts/types";
import { QueueError } from "../errors";
import { checkRetry } from "../retry/retry-settings.policy";
import type {
  Actor,
  DefinitionInput,
  DefinitionPatch,
  DefinitionView,
  Executor,
  RetryClasses,
  RetryStrategy,
} from "../types";
import { compileArgSchema } from "./arg-schema.policy";
import {
  definitionByKeySql,
  definitionVersionSql,
  insertDefinitionSql,
  keepDefinitionVersionSql,
  listDefinitionsSql,
  listQueuesSql,
  lockDefinitionSql,
  queueByNameSql,
  updateDefinitionSql,
} from "./definitions.sql";
import { validatorOf } from "./payload-validators";

export interface DefinitionRow {
  id: string;
  key: string;
  description: string;
  executor: Executor;
  command_key: string | null;
  queue: string;
  queue_id: number;
  arg_schema: Record<string, unknown>;
  timeout_seconds: number;
  max_attempts: number;
  /** The definition's own value; null = the queue's value applies. */
  own_timeout_seconds: number | null;
  own_max_attempts: number | null;
  lease_seconds: number;
  kill_grace_seconds: number;
  retry_strategy: RetryStrategy | null;
  retry_delay_seconds: number | null;
  retry_multiplier: number | null;
  retry_max_delay_seconds: number | null;
  retry_jitter: number | null;
  retry_classes: RetryClasses;
  dead_letter: boolean;
  is_active: boolean;
  version: number;
  created_at: Date;
  updated_at: Date;
}

/** Lists all definitions by key. They are global, so every tenant may know them. */
export async function listDefinitions(db: Runner): Promise<DefinitionView[]> {
  return (await db.run<DefinitionRow>(listDefinitionsSql)).map(toDefinitionView);
}

/** Adds a definition. @throws QueueError definition-exists, queue-unknown, schema-invalid, invalid-value */
export async function createDefinition(db: Database, actor: Actor, input: DefinitionInput): Promise<DefinitionView> {
  const merged = merge(DEFAULTS, input);
  compileArgSchema(merged.arg_schema);
  checkRetry(input);
  return db.transaction(async (tx) => {
    const queueId = await queueIdOf(tx, merged.queue);
    const [row] = await tx.run<{ id: string }>(insertDefinitionSql, values(input.key, merged, queueId));
    if (!row) throw new QueueError("definition-exists", "A definition with this key exists.");
    await tx.run(keepDefinitionVersionSql, [row.id, actor.userId]);
    return toDefinitionView(await definitionById(tx, row.id));
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
): Promise<DefinitionView> {
  if (patch.arg_schema) compileArgSchema(patch.arg_schema);
  checkRetry(patch);
  return db.transaction(async (tx) => {
    const current = await definitionById(tx, id);
    const own = { timeoutSeconds: current.own_timeout_seconds, maxAttempts: current.own_max_attempts };
    const merged = merge({ ...toDefinitionView(current), ...own }, patch);
    keepSide(current, merged);
    const queueId = await queueIdOf(tx, merged.queue);
    await tx.run(updateDefinitionSql, values(current.key, merged, queueId));
    await tx.run(keepDefinitionVersionSql, [id, actor.userId]);
    return toDefinitionView(await definitionById(tx, id));
  });
}

// Waiting jobs keep their version, so switching between remote and local would give them to workers of the wrong kind.
function keepSide(current: Pick<DefinitionRow, "executor">, next: Settings): void {
  if ((current.executor === "remote") === (next.executor === "remote")) return;
  throw new QueueError("invalid-value", "A definition cannot change between remote and local. Create a new one.", {
    problems: [{ pointer: "/executor", code: "fixed", detail: "cannot change between remote and another executor" }],
  });
}

/** The settings that a version keeps. */
type VersionRow = Omit<
  DefinitionRow,
  | "id"
  | "description"
  | "queue"
  | "queue_id"
  | "own_timeout_seconds"
  | "own_max_attempts"
  | "is_active"
  | "version"
  | "created_at"
  | "updated_at"
>;

/** Returns the version with which a job was accepted. @throws QueueError definition-unknown */
export async function loadDefinitionVersion(
  db: Runner,
  definitionId: string,
  version: number,
): Promise<RunnableDefinition> {
  const [row] = await db.run<VersionRow>(definitionVersionSql, [definitionId, version]);
  if (!row) throw new QueueError("definition-unknown", "Definition version not found.");
  return {
    definitionId,
    version,
    key: row.key,
    executor: row.executor,
    commandKey: row.command_key,
    validate: validatorOf({ id: definitionId, version, arg_schema: row.arg_schema }),
    timeoutSeconds: row.timeout_seconds,
    maxAttempts: row.max_attempts,
    leaseSeconds: row.lease_seconds,
    killGraceSeconds: row.kill_grace_seconds,
    retry: retryOf(row),
    retryClasses: row.retry_classes,
    deadLetter: row.dead_letter,
  };
}

/** Lists the active definitions and queues, of which a worker supports those that it knows and is configured for. */
export async function listServable(db: Runner): Promise<Servable> {
  const [definitions, queues] = [
    await db.run<DefinitionRow>(listDefinitionsSql),
    await db.run<{ id: number; name: string }>(listQueuesSql),
  ];
  return {
    queues,
    definitions: definitions
      .filter((row) => row.is_active)
      .map((row) => ({
        id: row.id,
        key: row.key,
        executor: row.executor,
        commandKey: row.command_key,
        leaseSeconds: row.lease_seconds,
        version: row.version,
      })),
  };
}

/** Returns one definition as an enqueue needs it; null if there is none with this key. */
export async function findDefinition(db: Runner, key: string): Promise<DefinitionRow | null> {
  const [row] = await db.run<DefinitionRow>(definitionByKeySql, [key]);
  return row ?? null;
}

/** Returns the id of an active queue. @throws QueueError queue-unknown, also for a disabled queue */
export async function queueIdOf(db: Runner, name: string): Promise<number> {
  const [row] = await db.run<{ id: number; is_active: boolean }>(queueByNameSql, [name]);
  if (row?.is_active) return row.id;
  throw new QueueError("queue-unknown", "No active queue has this name.", {
    problems: [{ pointer: "/queue", code: "queue-unknown", detail: "is not the name of an active queue" }],
  });
}

async function definitionById(db: Runner, id: string): Promise<DefinitionRow> {
  const [row] = await db.run<DefinitionRow>(lockDefinitionSql, [id]);
  if (!row) throw new QueueError("not-found", "Definition not found.");
  return row;
}

type Settings = Omit<
  DefinitionView,
  "id" | "key" | "version" | "createdAt" | "updatedAt" | "commandKey" | "timeoutSeconds" | "maxAttempts"
> & {
  readonly timeoutSeconds: number | null;
  readonly maxAttempts: number | null;
  readonly commandKey: string | null | undefined;
};

const DEFAULTS: Settings = {
  description: "",
  executor: "command",
  commandKey: undefined,
  queue: "default",
  arg_schema: {},
  timeoutSeconds: null,
  maxAttempts: null,
  lease_seconds: 30,
  kill_grace_seconds: 5,
  retry: { strategy: null, delay_seconds: null, multiplier: null, max_delay_seconds: null, jitter: null },
  retry_classes: {},
  dead_letter: true,
  is_active: true,
};

function merge(current: Settings, change: DefinitionPatch & { readonly key?: string }): Settings {
  const { retry, key, ...rest } = change;
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const merged: Settings = { ...current, ...given, retry: { ...current.retry, ...retry } };
  const commandKey = merged.executor === "command" ? (merged.commandKey ?? key) : null;
  if (commandKey === undefined) {
    throw new QueueError("invalid-value", "A definition that runs a command needs a command_key.", {
      problems: [{ pointer: "/command_key", code: "required", detail: "is required for executor command" }],
    });
  }
  return { ...merged, commandKey };
}

/** Returns the values in the order of the columns in insertDefinitionSql. */
function values(key: string, settings: Settings, queueId: number): unknown[] {
  const { retry } = settings;
  return [
    key,
    settings.description,
    settings.executor,
    settings.commandKey,
    queueId,
    JSON.stringify(settings.arg_schema),
    settings.timeoutSeconds,
    settings.maxAttempts,
    settings.lease_seconds,
    settings.kill_grace_seconds,
    retry.strategy,
    retry.delay_seconds,
    retry.multiplier,
    retry.max_delay_seconds,
    retry.jitter,
    JSON.stringify(settings.retry_classes),
    settings.dead_letter,
    settings.is_active,
  ];
}

function retryOf(row: VersionRow): DefinitionView["retry"] {
  return {
    strategy: row.retry_strategy,
    delay_seconds: row.retry_delay_seconds,
    multiplier: row.retry_multiplier,
    max_delay_seconds: row.retry_max_delay_seconds,
    jitter: row.retry_jitter,
  };
}

function toDefinitionView(row: DefinitionRow): DefinitionView {
  return {
    id: row.id,
    key: row.key,
    description: row.description,
    executor: row.executor,
    command_key: row.command_key,
    queue: row.queue,
    arg_schema: row.arg_schema,
    timeout_seconds: row.timeout_seconds,
    max_attempts: row.max_attempts,
    lease_seconds: row.lease_seconds,
    kill_grace_seconds: row.kill_grace_seconds,
    retry: retryOf(row),
    retry_classes: row.retry_classes,
    dead_letter: row.dead_letter,
    is_active: row.is_active,
    version: row.version,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
