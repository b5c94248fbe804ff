import type { Limit, Pause, Queue, TenantQueue } from "@/lib/contract";
import type { LimitView, PauseView, QueueView } from "@/lib/queue/types";

const isoOrNull = (at: Date | null): string | null => at?.toISOString() ?? null;

/** Serializes a queue as a tenant sees it. */
export function serializeTenantQueue(queue: QueueView): TenantQueue {
  const { pause } = queue;
  return {
    name: queue.name,
    description: queue.description,
    default_priority: queue.default_priority,
    timeout_seconds: queue.timeout_seconds,
    max_attempts: queue.max_attempts,
    retry_delay_seconds: queue.retry_delay_seconds,
    retry_multiplier: queue.retry_multiplier,
    pause: pause && {
      scope: pause.scope,
      reason: pause.reason,
      since: pause.since.toISOString(),
      until: isoOrNull(pause.until),
    },
  };
}

export function serializeQueue(queue: QueueView): Queue {
  return {
    id: queue.id,
    ...serializeTenantQueue(queue),
    weight: queue.weight,
    is_active: queue.is_active,
    created_at: queue.created_at.toISOString(),
    updated_at: queue.updated_at.toISOString(),
  };
}

export function serializePause(pause: PauseView): Pause {
  return {
    id: pause.id,
    scope: pause.scope,
    queue: pause.queue,
    definition_key: pause.definition_key,
    tenant: pause.tenant,
    reason: pause.reason,
    since: pause.since.toISOString(),
    until: isoOrNull(pause.until),
    paused_by: pause.paused_by,
  };
}

/** Returns the audit entry of a pause. */
export function pauseChange(action: "pause.set" | "pause.ended", pause: PauseView) {
  const { id, scope, queue, definition_key: definitionKey, tenant, until } = pause;
  const detail = { scope, queue, definition_key: definitionKey, tenant, until: isoOrNull(until) };
  return { action, objectKind: "pause", objectId: id, detail };
}

export function serializeLimit(limit: LimitView): Limit {
  return {
    id: limit.id,
    scope: limit.scope,
    queue: limit.queue,
    definition_key: limit.definition_key,
    tenant: limit.tenant,
    max_running: limit.max_running,
    starts_per_second: limit.starts_per_second,
    burst: limit.burst,
    limited_at: isoOrNull(limit.limited_at),
    limited_by: limit.limited_by,
    created_at: limit.created_at.toISOString(),
    updated_at: limit.updated_at.toISOString(),
  };
}

/** Returns the audit entry of a limit. */
export function limitChange(action: "limit.created" | "limit.changed" | "limit.deleted", limit: LimitView) {
  const { id, scope, queue, definition_key: definitionKey, tenant, max_running: maxRunning, starts_per_second: startsPerSecond, burst } = limit;
  const numbers = { max_running: maxRunning, starts_per_second: startsPerSecond, burst };
  const detail = { scope, queue, definition_key: definitionKey, tenant, ...numbers };
  return { action, objectKind: "limit", objectId: String(id), detail };
}
