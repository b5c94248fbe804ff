import * as z from "zod";
import { dedupeOfTest, event, eventFiring, eventMiss, eventRow } from "./events";
import { artifact } from "./jobs/artifacts";
import { deadLetter, deadLetterDetail } from "./jobs/dead-letters";
import { definition } from "./jobs/definitions";
import { jobAction, jobActionPreview } from "./jobs/job-actions";
import { job, jobRow } from "./jobs/jobs";
import type { Permission } from "./permissions";
import { provider } from "./platform";
import { limit, pauseView, queue } from "./queues";
import { tenant } from "./tenants";
import { firing, recentFiring, trigger } from "./triggers";
import { webhookEndpoint, webhookEndpointWithSecret } from "./webhooks";
import { newWorkerKey, workerKey } from "./worker-keys";

/** The permissions with which a caller gets the whole object, and the fields that all other callers get. */
interface Guard {
  /** One of them is enough. */
  readonly permissions: readonly Permission[];
  readonly keep: ReadonlySet<string>;
}

const guards = new Map<z.ZodType, readonly Guard[]>();

/**
 * Lists the fields of an object that a caller without the permission gets. A field that is added later is hidden until
 * it is listed. A schema derived from this one (`extend`, `pick`) needs a line of its own.
 */
function without<T extends z.ZodObject>(
  permission: Permission | readonly Permission[],
  schema: T,
  keep: readonly (keyof T["shape"] & string)[],
): void {
  guards.set(schema, [...guardsOf(schema), { permissions: [permission].flat(), keep: new Set(keep) }]);
}

/** Identity and state: what a caller may see of a job that it enqueued or acted on. */
const STANDING = [
  ...([
    "id",
    "tenant_id",
    "definition_id",
    "definition_key",
    "definition_version",
    "queue",
    "status",
    "source",
  ] as const),
  ...(["priority", "scheduled_for", "queued_at", "started_at", "finished_at", "expires_at"] as const),
  ...(["attempt_count", "max_attempts", "run_no", "timeout_seconds", "cancel_requested_at"] as const),
];
without("jobs:read", jobRow, STANDING);
without("jobs:read", job, [...STANDING, "deduplicated", "conflict"]);
without("jobs:read", deadLetter, ["id", "status", "changed_at", "job"]);
without("jobs:read", deadLetterDetail, ["id", "status", "changed_at", "job"]);
without("jobs:read", artifact, ["id", "job_id", "run_no", "attempt_no", "size", "created_at"]);
without("jobs:read", jobActionPreview, ["dry_run", "action", "count", "count_relation"]);
without("jobs:read", jobAction, [
  ...(["id", "action", "priority", "scheduled_for", "status", "stop_reason"] as const),
  ...(["total", "total_relation", "done", "skipped", "failed"] as const),
  ...(["created_at", "started_at", "finished_at", "abort_requested_at"] as const),
]);

// Firings name jobs: a deduplicated firing names the job that holds the key.
without("jobs:read", recentFiring, ["id", "fire_at", "outcome", "reason"]);
without("jobs:read", firing, [
  ...(["id", "trigger_id", "kind", "fire_at", "event_id", "outcome", "reason", "n", "until"] as const),
  ...(["is_catch_up", "note", "created_at"] as const),
]);
without("jobs:read", dedupeOfTest, ["key", "window_seconds"]);
without("jobs:read", eventFiring, ["id", "trigger_id", "trigger_label", "outcome", "reason", "definition_key"]);
without("triggers:read", eventFiring, ["id", "trigger_id", "outcome", "reason", "job_id", "job_status"]);
without("triggers:read", eventMiss, ["trigger_id", "reason"]);
const EVENT = [
  ...(["id", "name", "producer_id", "source", "correlation_id", "depth", "received_at", "status"] as const),
  ...(["considered_count", "matched_count", "started_count", "reason", "firings"] as const),
];
without("jobs:read", eventRow, EVENT);
without("jobs:read", event, [...EVENT, "data", "misses", "replays", "duplicate"]);

const STORED = ["id", "version", "created_at", "updated_at"] as const;
without("triggers:read", trigger, [...STORED, "tenant_id", "trigger_type", "is_enabled", "status"]);
const ENDPOINT = [...STORED, "tenant_id", "is_enabled", "previous_secret_until"] as const;
without("webhooks:read", webhookEndpoint, ENDPOINT);
without("webhooks:read", webhookEndpointWithSecret, [...ENDPOINT, "secret"]);

without(["definitions:read", "platform:definitions:read"], definition, [...STORED, "key", "is_active"]);
without("platform:queues:read", queue, ["id", "name", "is_active", "created_at", "updated_at"]);
without("platform:queues:read", limit, ["id", "scope", "created_at", "updated_at"]);
without("platform:queues:read", pauseView, ["id", "scope", "since", "until"]);
without("platform:tenants:read", tenant, ["id", "slug", "weight"]);
without("platform:providers:read", provider, ["id", "tenant_id", "kind", "created_at"]);
without("platform:worker-keys:read", workerKey, ["id", "created_at", "expires_at", "revoked_at"]);
without("platform:worker-keys:read", newWorkerKey, ["id", "key", "created_at", "expires_at", "revoked_at"]);

/** Returns the guards of an object, for the reference; empty for an object that all callers get whole. */
export function guardsOf(schema: unknown): readonly Guard[] {
  return guards.get(schema as z.ZodType) ?? [];
}

/**
 * Returns an answer without the fields that a caller with these permissions may not see, at any depth. An answer that
 * the caller may see whole is returned unchanged.
 * @throws Error for a value that no option of its union describes, because its guards are unknown
 */
export function cutAnswer(schema: z.ZodType, answer: unknown, held: ReadonlySet<Permission>): unknown {
  return cut(schema, answer, held);
}

/** Returns true if a caller with these permissions gets every field of such an answer. */
export function isShownWhole(schema: z.ZodType, held: ReadonlySet<Permission>): boolean {
  return guardsIn(schema).every((guard) => isMet(guard, held));
}

const isMet = ({ permissions }: Guard, held: ReadonlySet<Permission>): boolean =>
  permissions.some((permission) => held.has(permission));

function cut(schema: z.ZodType, value: unknown, held: ReadonlySet<Permission>): unknown {
  if (value === null || value === undefined || isShownWhole(schema, held)) return value;
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional)
    return cut(schema.unwrap() as z.ZodType, value, held);
  if (schema instanceof z.ZodArray)
    return (value as unknown[]).map((item) => cut(schema.element as z.ZodType, item, held));
  if (schema instanceof z.ZodUnion) return cut(optionOf(schema, value), value, held);
  return schema instanceof z.ZodObject ? cutObject(schema, value, held) : value;
}

function cutObject(schema: z.ZodObject, value: object, held: ReadonlySet<Permission>): object {
  return Object.fromEntries(
    shownFields(schema, value, held).map(([name, field, part]) => [name, part ? cut(part, field, held) : field]),
  );
}

/**
 * Returns the fields of an object that a caller with these permissions gets, each with its schema; the fields
 * themselves are not cut.
 */
export function shownFields(
  schema: z.ZodObject,
  value: object,
  held: ReadonlySet<Permission>,
): readonly (readonly [name: string, field: unknown, part: z.ZodType | undefined])[] {
  const unmet = guardsOf(schema).filter((guard) => !isMet(guard, held));
  return Object.entries(value)
    .filter(([name]) => unmet.every(({ keep }) => keep.has(name)))
    .map(([name, field]) => [name, field, schema.shape[name] as z.ZodType | undefined] as const);
}

function optionOf(schema: z.ZodUnion, value: unknown): z.ZodType {
  const option = (schema.options as readonly z.ZodType[]).find((one) => one.safeParse(value).success);
  if (!option) throw new Error("no option of the answer's schema describes it");
  return option;
}

const known = new WeakMap<z.ZodType, readonly Guard[]>();

/** Returns all guards within a schema. Answer schemas are not recursive. */
function guardsIn(schema: z.ZodType): readonly Guard[] {
  const before = known.get(schema);
  if (before) return before;
  const found = [...guardsOf(schema), ...partsOf(schema).flatMap(guardsIn)];
  known.set(schema, found);
  return found;
}

function partsOf(schema: z.ZodType): readonly z.ZodType[] {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return [schema.unwrap() as z.ZodType];
  if (schema instanceof z.ZodArray) return [schema.element as z.ZodType];
  if (schema instanceof z.ZodUnion) return schema.options as readonly z.ZodType[];
  return schema instanceof z.ZodObject ? (Object.values(schema.shape) as z.ZodType[]) : [];
}
