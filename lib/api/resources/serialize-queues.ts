import type { Limit, Pause, Queue, TenantQueue } from "@/lib/contract";
import type { LimitView, PauseView, QueueView } from "@/lib/queue/types";

const isoOrNull = (at: Date | null): string | null => at?.toISOString() ?? null;

/** Serializes a queue as a tenant sees it. */
export function serializeTenantQueue(queue: QueueView): TenantQueue {
  const { pause } = queue;
  return {
    name: queue.name,
    description: queue.description,
    default_priority: queue.defaultPriority,
    timeout_seconds: queue.timeoutSeconds,
    max_attempts: queue.maxAttempts,
    retry_delay_seconds: queue.retryDelaySeconds,
    retry_multiplier: queue.retryMultiplier,
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
    is_active: queue.isActive,
    created_at: queue.createdAt.toISOString(),
    updated_at: queue.updatedAt.toISOString(),
  };
}

export function serializePause(pause: PauseView): Pause {
  return {
    id: pause.id,
    scope: pause.scope,
    queue: pause.queue,
    definition_key: pause.definitionKey,
    tenant: pause.tenant,
    reason: pause.reason,
    since: pause.since.toISOString(),
    until: isoOrNull(pause.until),
    paused_by: pause.pausedBy,
  };
}

/** Returns the audit entry of a pause. */
export function pauseChange(action: "pause.set" | "pause.ended", pause: PauseView) {
  const { id, scope, queue, definitionKey, tenant, until } = pause;
  const detail = { scope, queue, definition_key: definitionKey, tenant, until: isoOrNull(until) };
  return { action, objectKind: "pause", objectId: id, detail };
}

export function serializeLimit(limit: LimitView): Limit {
  return {
    id: limit.id,
    scope: limit.scope,
    queue: limit.queue,
    definition_key: limit.definitionKey,
    tenant: limit.tenant,
    max_running: limit.maxRunning,
    starts_per_second: limit.startsPerSecond,
    burst: limit.burst,
    limited_at: isoOrNull(limit.limitedAt),
    limited_by: limit.limitedBy,
    created_at: limit.createdAt.toISOString(),
    updated_at: limit.updatedAt.toISOString(),
  };
}

/** Returns the audit entry of a limit. */
export function limitChange(action: "limit.created" | "limit.changed" | "limit.deleted", limit: LimitView) {
  const { id, scope, queue, definitionKey, tenant, maxRunning, startsPerSecond, burst } = limit;
  const numbers = { max_running: maxRunning, starts_per_second: startsPerSecond, burst };
  const detail = { scope, queue, definition_key: definitionKey, tenant, ...numbers };
  return { action, objectKind: "limit", objectId: String(id), detail };
}
