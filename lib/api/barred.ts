import type { Permission, TenantPermission } from "@/lib/contract";
import type { QueueError } from "@/lib/queue";
import type { TenantScope } from "@/lib/queue/types";

/**
 * Webhook jobs are signed in the tenant's name, so starting one needs `webhooks:write`. Triggers on `job.*` events read
 * what jobs returned, so saving one needs `jobs:read`.
 */
export const barredIn = (
  held: ReadonlySet<Permission>,
): Pick<TenantScope, "barredExecutors" | "barredFromJobEvents"> => ({
  ...(held.has("webhooks:write") ? {} : { barredExecutors: ["webhook"] }),
  ...(held.has("jobs:read") ? {} : { barredFromJobEvents: true }),
});

const NEEDED: Partial<Record<QueueError["code"], TenantPermission>> = {
  "executor-barred": "webhooks:write",
  "job-events-barred": "jobs:read",
};

/** Returns the permission whose absence made the queue refuse a request. Matched by name: see toHttpProblem. */
export const missingFor = (error: unknown): TenantPermission | undefined =>
  error instanceof Error && error.name === "QueueError" ? NEEDED[(error as QueueError).code] : undefined;
