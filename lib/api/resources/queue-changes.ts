import type { Limit, Pause } from "@/lib/queue/types";

/** Returns the audit entry of a pause. */
export function pauseChange(action: "pause.set" | "pause.ended", pause: Pause) {
  const { id, scope, queue, definition_key, tenant, until } = pause;
  return { action, objectKind: "pause", objectId: id, detail: { scope, queue, definition_key, tenant, until } };
}

/** Returns the audit entry of a limit. */
export function limitChange(action: "limit.created" | "limit.changed" | "limit.deleted", limit: Limit) {
  const { id, scope, queue, definition_key, tenant, max_running, starts_per_second, burst } = limit;
  const detail = { scope, queue, definition_key, tenant, max_running, starts_per_second, burst };
  return { action, objectKind: "limit", objectId: String(id), detail };
}
