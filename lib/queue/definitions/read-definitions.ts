import type { Runner } from "@/lib/db";
import type { RunnableDefinition, Servable } from "../attempts/types";
import { QueueError } from "../errors";
import { type RetryColumns, retryOf } from "../retry/retry-levels.policy";
import type { Executor } from "../types";
import {
  definitionByKeySql,
  definitionVersionSql,
  listQueuesSql,
  listServableSql,
  queueByNameSql,
} from "./definitions.sql";
import { validatorOf } from "./payload-validators";

/** A definition as an enqueue needs it. */
export interface DefinitionRow {
  id: string;
  key: string;
  executor: Executor;
  queue: string;
  queue_id: number;
  arg_schema: Record<string, unknown>;
  /** Null = the queue's value applies. */
  timeout_seconds: number | null;
  is_active: boolean;
  version: number;
}

/** The settings that a version keeps. */
interface VersionRow extends RetryColumns {
  key: string;
  executor: Executor;
  command_key: string | null;
  arg_schema: Record<string, unknown>;
  timeout_seconds: number;
  max_attempts: number;
  lease_seconds: number;
  kill_grace_seconds: number;
  dead_letter: boolean;
}

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
    ...retryOf(row),
    deadLetter: row.dead_letter,
  };
}

interface ServableRow {
  id: string;
  key: string;
  executor: Executor;
  command_key: string | null;
  lease_seconds: number;
  version: number;
}

/** Lists the active definitions and queues, of which a worker supports those that it knows and is configured for. */
export async function listServable(db: Runner): Promise<Servable> {
  const definitions = await db.run<ServableRow>(listServableSql);
  const queues = await db.run<{ id: number; name: string }>(listQueuesSql);
  return {
    queues,
    definitions: definitions.map(({ command_key, lease_seconds, ...row }) => ({
      ...row,
      commandKey: command_key,
      leaseSeconds: lease_seconds,
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
